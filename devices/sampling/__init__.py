"""Exact draws of distributions from uniform bits."""
