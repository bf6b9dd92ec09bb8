"""The methods, by name.

Others are found through the entry point group ``ldpsim.methods``: a package that offers
one there needs no change here.
"""

from __future__ import annotations

from importlib.metadata import entry_points

from curator.methods.base import Budget, Graph, Method, Question
from curator.methods.hogs import HoGS
from curator.methods.owner import B1, B2, B1Sampled, OwnerMethod
from curator.methods.pate import PateG, PateM
from curator.methods.privgnn import PrivGnn
from curator.methods.references import MLP, Raw, Reference
from curator.names import nearest

BUILT_IN: dict[str, type[Method]] = {
    method.name: method for method in (HoGS, MLP, Raw, PrivGnn, PateG, PateM, B1, B1Sampled, B2)
}

__all__ = [
    "BUILT_IN", "MLP", "Budget", "Graph", "HoGS", "Method", "OwnerMethod", "Question", "Raw", "Reference", "find",
    "table",
]  # fmt: skip


def table() -> dict[str, type[Method]]:
    """Return every method there is, built in or found through entry points, by name."""
    found = dict(BUILT_IN)
    for entry in entry_points(group="ldpsim.methods"):
        if entry.name not in found:
            loaded = entry.load()
            if isinstance(loaded, type) and issubclass(loaded, Method):
                found[entry.name] = loaded
    return found


def find(name: str) -> type[Method]:
    """Return the method of that name.

    Raises:
        ValueError: where there is none; names the nearest ones.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    known = table()
    if name not in known:
        raise ValueError(f"unknown method {name!r}{nearest(name, known)} (known: {', '.join(sorted(known))})")
    return known[name]
