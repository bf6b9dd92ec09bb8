"""Reconstruction of links from noisy adjacency rows."""
