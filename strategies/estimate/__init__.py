"""Estimate of a run before anybody is asked: bytes and memory, from public facts alone."""
