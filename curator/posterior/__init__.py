"""Posterior of edges and classes given everything that a curator was told."""
