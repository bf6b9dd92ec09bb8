"""Population of people, one record a device, and its splits."""
