"""Audit of mechanisms, methods and devices: exact losses beside empirical bounds."""
