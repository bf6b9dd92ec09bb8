"""Reported bits of features, under noise that flips each of them alike."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.array_types import BoolArray
from ldpsim.devices.mechanisms import OneBit


@dataclass(frozen=True, eq=False)
class FlippedFeatures:
    """A reported bit for each feature, and the flip probability of their noise.

    Args:
        packed: uint8 (n, ceil(count / 8)), as ``np.packbits`` gives them.
        count: Number of features d.
        flip: Probability that a bit is flipped.
        answered: bool (n,): people whose bits are known.
    """

    packed: NDArray[np.uint8] = field(repr=False)
    count: int
    flip: float
    answered: BoolArray = field(repr=False)

    def unpacked(self) -> NDArray[np.uint8]:
        """uint8 (n, d): the bits."""
        return np.unpackbits(self.packed, axis=1, count=self.count)


def feature_bits(reports: Reports) -> FlippedFeatures | None:
    """Return the bits; None where none were reported, or under other noise."""
    if reports.features is None:
        return None
    mechanism = reports.source("features")
    if not isinstance(mechanism, OneBit):
        return None
    return FlippedFeatures(reports.features, reports.facts.d, mechanism.flip_probability, reports.reported("features"))
