"""Benchmarks: ratios of speed, and the papers' tables and figures."""
