"""The randomisers, by name.

Others are found through the entry point group ``ldpsim.mechanisms``: a package that
offers one there needs no change here.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from devices.mechanisms.analytic_gaussian import AnalyticGaussian
from devices.mechanisms.base import Loss, Mechanism, round_up
from devices.mechanisms.clear import ClearAdjacency, ClearFeatures, ClearLabel
from devices.mechanisms.degree import Degree
from devices.mechanisms.group_degrees import GroupDegrees
from devices.mechanisms.grr import GRR
from devices.mechanisms.grr_fs import GRRFS
from devices.mechanisms.laplace import Laplace
from devices.mechanisms.multi_bit import MultiBit
from devices.mechanisms.noisy_row import NoisyRow
from devices.mechanisms.one_bit import OneBit
from devices.mechanisms.randomized_response import RandomizedResponse, Reporting

_ALL: tuple[type[Mechanism], ...] = (
    RandomizedResponse, Degree, GroupDegrees, NoisyRow, ClearAdjacency,
    OneBit, MultiBit, GRRFS, Laplace, AnalyticGaussian, ClearFeatures,
    GRR, ClearLabel,
)  # fmt: skip
BUILT_IN: dict[str, type[Mechanism]] = {mechanism.name: mechanism for mechanism in _ALL}

__all__ = [
    "BUILT_IN", "GRR", "GRRFS", "AnalyticGaussian", "ClearAdjacency", "ClearFeatures", "ClearLabel", "Degree",
    "GroupDegrees", "Laplace", "Loss", "Mechanism", "MultiBit", "NoisyRow", "OneBit", "RandomizedResponse",
    "Reporting", "find", "round_up",
]  # fmt: skip


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
