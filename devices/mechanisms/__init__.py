"""Mechanisms (randomisers) by name.

Mechanisms of other packages are found through the entry point group ``ldpsim.mechanisms``.
Such a package needs no change here.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from ldpsim.devices.foreign.packages import imported, may_import
from ldpsim.devices.mechanisms.categories import GRR
from ldpsim.devices.mechanisms.clear import ClearAdjacency, ClearFeatures, ClearLabel
from ldpsim.devices.mechanisms.counts import Degree, GroupDegrees, NoisyRow
from ldpsim.devices.mechanisms.exact_loss import Loss, round_up
from ldpsim.devices.mechanisms.feature_bits import MultiBit, OneBit
from ldpsim.devices.mechanisms.features import FeatureGrid, FeatureRange
from ldpsim.devices.mechanisms.grr_fs import GRRFS
from ldpsim.devices.mechanisms.mechanism import Mechanism, Reporting
from ldpsim.devices.mechanisms.neighbour_lists import AdjacencyBits, AdjacencyMechanism
from ldpsim.devices.mechanisms.neighbourhood_vote import NeighbourhoodVote
from ldpsim.devices.mechanisms.noisy_steps import AnalyticGaussian, Laplace
from ldpsim.devices.mechanisms.randomized_response import RandomizedResponse
from ldpsim.devices.mechanisms.sum_share import SumShare
from ldpsim.devices.mechanisms.window import Window

_ALL: tuple[type[Mechanism], ...] = (
    RandomizedResponse, Degree, GroupDegrees, NoisyRow, NeighbourhoodVote, ClearAdjacency,
    OneBit, MultiBit, Window, GRRFS, Laplace, AnalyticGaussian, ClearFeatures,
    GRR, ClearLabel, SumShare,
)  # fmt: skip
BUILT_IN: dict[str, type[Mechanism]] = {mechanism.name: mechanism for mechanism in _ALL}

__all__ = [
    "BUILT_IN", "GRR", "GRRFS", "AdjacencyBits", "AdjacencyMechanism", "AnalyticGaussian", "ClearAdjacency",
    "ClearFeatures", "ClearLabel", "Degree", "FeatureGrid", "FeatureRange", "GroupDegrees", "Laplace",
    "Loss", "Mechanism", "MultiBit", "NeighbourhoodVote", "NoisyRow", "OneBit", "RandomizedResponse",
    "Reporting", "SumShare", "Window", "every", "find", "round_up",
]  # fmt: skip


@cache
def _installed() -> dict[str, EntryPoint]:
    # All entry points are read once. Strangers choose the names that are asked for, so a
    # cache by name would grow without limit.
    return {entry.name: entry for entry in entry_points(group="ldpsim.mechanisms")}


def find(name: str) -> type[Mechanism] | None:
    """Return the mechanism of that name, or None."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    entry = _installed().get(name)
    loaded = imported(name, entry.load) if entry else None
    return loaded if isinstance(loaded, type) and issubclass(loaded, Mechanism) else None


def every() -> dict[str, type[Mechanism]]:
    """Return every mechanism by name: the built-in ones, then those of other packages where these are imported."""
    kinds = {name: find(name) for name in (*BUILT_IN, *(_installed() if may_import() else ()))}
    return {name: kind for name, kind in kinds.items() if kind is not None}
