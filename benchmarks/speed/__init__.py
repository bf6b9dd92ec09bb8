"""Benchmarks of time, memory and bytes; they print ratios."""
