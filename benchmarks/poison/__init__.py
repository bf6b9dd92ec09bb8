"""Measurement of lying devices on Cora, and the page of its results."""
