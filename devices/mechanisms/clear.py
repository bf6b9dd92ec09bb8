"""Attributes in clear: no noise at all, an infinite loss, "unprotected" in every result.

For the settings of the papers in which an attribute is not private but is still collected
from its owner (eps = inf). A device answers only where its policy allows an infinite loss.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from devices.facts import PublicFacts
from devices.mechanisms.base import BoolArray, Loss, Mechanism
from devices.mechanisms.bits import pack_bits, unpack_bits
from devices.mechanisms.neighbour_list import AboutList, Reporting
from devices.noise import NoiseStream

if TYPE_CHECKING:
    from devices.data.population import Record


class InClear(Mechanism):
    """The report is the value."""

    version: ClassVar[int] = 1

    def perturb(self, value: Any, noise: NoiseStream) -> Any:
        return value

    def log_probability(self, report: Any, value: Any) -> float:
        return 0.0 if np.array_equal(report, value) else -math.inf

    def estimate(self, report: Any) -> Any:
        return report

    def variance(self, value: Any) -> Any:
        return np.zeros(np.shape(value))

    def loss(self, *, device: int | None = None) -> Loss:
        return Loss(math.inf, math.inf)


@dataclass(frozen=True)
class ClearAdjacency(InClear, AboutList):
    """The adjacency row as it is. ``value`` and ``report``: bool (number of targets,).

    Raises:
        ValueError: for fewer than one person or another reporting.
    """

    n: int
    reporting: Reporting = "both"

    name: ClassVar[str] = "clear_adjacency"

    def __post_init__(self) -> None:
        self.check_list()

    def encode(self, report: BoolArray) -> bytes:
        return pack_bits(report)

    def decode(self, data: bytes, *, device: int) -> BoolArray:
        return unpack_bits(data, self.targets(device))

    def loss(self, *, device: int | None = None) -> Loss:
        return super().loss() if self.most_targets(device) else Loss(0.0, 0.0)


@dataclass(frozen=True)
class ClearFeatures(InClear):
    """The features, clamped to the public range. ``value`` and ``report``: float32 (d,).

    Raises:
        ValueError: for a size or range that makes no sense.
    """

    d: int
    low: float = 0.0
    high: float = 1.0

    name: ClassVar[str] = "clear_features"
    attributes: ClassVar[frozenset[str]] = frozenset({"features"})

    def __post_init__(self) -> None:
        if self.d < 1 or not 0 < self.high - self.low < math.inf:
            raise ValueError(f"features need d >= 1 and a finite range, not d={self.d}, [{self.low}, {self.high}]")

    def agrees_with(self, facts: PublicFacts) -> bool:
        return (self.d, self.low, self.high) == (facts.d, facts.feature_low, facts.feature_high)

    def value_of(self, record: Record, *, device: int, grouping: tuple[int, ...] | None = None) -> np.ndarray:
        dense = super().value_of(record, device=device)
        return np.fmin(np.fmax(dense, np.float32(self.low)), np.float32(self.high))

    def encode(self, report: np.ndarray) -> bytes:
        where = pack_bits(report != 0)
        return struct.pack("<I", len(where)) + where + report[report != 0].astype("<f4").tobytes()

    def decode(self, data: bytes, *, device: int) -> np.ndarray:
        if len(data) < 4:
            raise ValueError("a report of features is cut off")
        (size,) = struct.unpack_from("<I", data)
        where = unpack_bits(data[4 : 4 + size], self.d)
        report = np.zeros(self.d, np.float32)
        if len(data) != 4 + size + 4 * np.count_nonzero(where):
            raise ValueError("a report of features is cut off")
        report[where] = np.frombuffer(data, "<f4", offset=4 + size)
        if not np.all((report >= np.float32(self.low)) & (report <= np.float32(self.high))):
            raise ValueError("a feature lies outside its range")
        return report


@dataclass(frozen=True)
class ClearLabel(InClear):
    """The label as it is; one outside the domain counts as the first. ``value`` and ``report``: an integer.

    Raises:
        ValueError: for a domain that is empty or too large.
    """

    categories: int

    name: ClassVar[str] = "clear_label"
    attributes: ClassVar[frozenset[str]] = frozenset({"label"})

    def __post_init__(self) -> None:
        if not 1 <= self.categories <= 1 << 16:
            raise ValueError(f"a label needs a domain of 1..65536 categories, not {self.categories}")

    def agrees_with(self, facts: PublicFacts) -> bool:
        return self.categories == facts.classes

    def value_of(self, record: Record, *, device: int, grouping: tuple[int, ...] | None = None) -> int:
        return record.label if 0 <= record.label < self.categories else 0

    def encode(self, report: int) -> bytes:
        return int(report).to_bytes(2, "little")

    def decode(self, data: bytes, *, device: int) -> int:
        report = int.from_bytes(data, "little")
        if len(data) != 2 or report >= self.categories:
            raise ValueError("not a label")
        return report
