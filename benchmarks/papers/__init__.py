"""The papers' tables: which runs stand in them, and what others found for each.

Every module has ``entries()``, the cells of one paper's page, and ``PAGE``, what the page says
about them. ``benchmarks/papers/tables.py`` runs the cells and writes the pages.
"""
