"""Lying devices against each method (``ldpsim poison``): the damage they do, and what a check saves."""
