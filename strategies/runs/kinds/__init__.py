"""Kinds of run, by who trains: each is a :class:`ldpsim.strategies.runs.kind.Kind`, of five functions."""
