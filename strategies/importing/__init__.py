"""Graphs from other programs' files, checked and written in the one form that ``--dataset FILE.npz`` reads.

``ldpsim.import_graph`` is the Python use of ``ldpsim import``.
Importing this package is cheap: pandas and the readers are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldpsim.strategies.importing.options import ImportOptions, WrongFiles

if TYPE_CHECKING:
    from ldpsim.strategies.importing.graph_import import import_graph

__all__ = ["ImportOptions", "WrongFiles", "import_graph"]


def __getattr__(name: str) -> Any:
    if name == "import_graph":
        from ldpsim.strategies.importing import graph_import

        return graph_import.import_graph
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
