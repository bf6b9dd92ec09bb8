"""Checks of an installation: its versions, its data and its machine, each with a remedy."""
