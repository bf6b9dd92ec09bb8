"""The papers' accuracy tables: the runs of each, and the published figures beside them.

The module of a paper has ``LEVELS``, the levels whose losses its table shows, and ``cells()``, the runs.
``benchmarks/papers/tables.py`` runs them and writes ``docs/results/PAPER.csv``.
"""
