"""Null models: predictions that use less than a method, from the same reports, split and seeds."""
