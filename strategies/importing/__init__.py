"""Graphs from other programs' files, checked and written in the one form that ``--dataset FILE.npz`` reads.

``from strategies.importing import import_graph`` is the Python use of ``ldpsim import``.
"""

from strategies.importing.graph_import import ImportOptions, import_graph

__all__ = ["ImportOptions", "import_graph"]
