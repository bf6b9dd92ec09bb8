"""The randomisers, by name.

Others are found through the entry point group ``ldpsim.mechanisms``: a package that
offers one there needs no change here.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from devices.mechanisms.base import Loss, Mechanism, round_up
from devices.mechanisms.grr import GRR
from devices.mechanisms.one_bit import OneBit
from devices.mechanisms.randomized_response import RandomizedResponse, Reporting

BUILT_IN: dict[str, type[Mechanism]] = {m.name: m for m in (RandomizedResponse, OneBit, GRR)}

__all__ = ["BUILT_IN", "GRR", "Loss", "Mechanism", "OneBit", "RandomizedResponse", "Reporting", "find", "round_up"]


@cache
def _installed() -> dict[str, EntryPoint]:
    # Looked up once and as a whole: the names asked for come from strangers, and a cache
    # of those would grow with every name that they think of.
    return {entry.name: entry for entry in entry_points(group="ldpsim.mechanisms")}


def find(name: str) -> type[Mechanism] | None:
    """Return the mechanism of that name, or None."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    entry = _installed().get(name)
    loaded = entry.load() if entry else None
    return loaded if isinstance(loaded, type) and issubclass(loaded, Mechanism) else None
