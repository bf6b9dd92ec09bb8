"""Kinds of run, from enrolled devices to a trained network."""
