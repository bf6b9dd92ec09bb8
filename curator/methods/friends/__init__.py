"""Methods without a curator: devices of friends tell one another what they compute."""
