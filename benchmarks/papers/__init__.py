"""The papers' tables: their runs, and the published figure of each.

The module of a paper has ``cells()``, the cells of its page, and ``PAGE``, the text of the page.
``benchmarks/papers/tables.py`` runs the cells and writes the pages. Text that is written by hand stands in ``notes``.
"""

from pathlib import Path

NOTES = Path(__file__).parent / "notes"
