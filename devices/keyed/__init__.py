"""Keyed hashes and keystreams under many keys at once."""
