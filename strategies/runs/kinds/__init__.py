"""Kinds of run, by who trains: each is a :class:`ldpsim.strategies.runs.kind.RunKind`, of five functions."""
