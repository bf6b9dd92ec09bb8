"""Flower strategies of the federated methods, one a file; a strategy that keeps state has `state` and `restore`."""
