"""The checkout as a Flower app: `flwr run .` and deployed SuperNodes."""
