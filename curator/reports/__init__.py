"""Decoded reports of all devices, and estimates that read nothing else."""
