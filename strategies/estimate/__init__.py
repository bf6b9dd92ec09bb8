"""Estimate of a run before anybody is asked: bytes, memory and time, from public facts alone."""
