"""Outputs for people and their programs: the reconstructed graph, its files, and HTML for notebooks."""
