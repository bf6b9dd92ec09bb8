"""Attributes in clear: no noise, an infinite loss, ``unprotected`` in every result.

Some papers have settings in which an attribute is not private but is still collected from
its owner (eps = inf). A device answers only if its policy allows an infinite loss.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.data.population import Record
from ldpsim.devices.mechanisms.base import (
    IN_CLEAR,
    AdjacencyBits,
    FeatureRange,
    Grouping,
    Mechanism,
    Reporting,
    changes,
)
from ldpsim.devices.mechanisms.bits import pack_bits, unpack_bits
from ldpsim.devices.mechanisms.labels import OneCategory
from ldpsim.devices.mechanisms.stacked_reports import ReportStack, SparseStack, sparse_one_by_one
from ldpsim.devices.noise import NoiseStream


class InClear(Mechanism):
    """Mechanism whose report is the value."""

    in_clear: ClassVar[bool] = True

    def perturb(self, value: Any, noise: NoiseStream) -> Any:
        return value

    def log_probability(self, report: Any, value: Any) -> float:
        return 0.0 if np.array_equal(report, value) else -math.inf

    def estimate(self, report: Any) -> Any:
        return report

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return math.inf if changes(1, changed) else 0.0


@dataclass(frozen=True)
class ClearAdjacency(InClear, AdjacencyBits):
    """Report the adjacency row as it is.

    ``value`` and ``report``: bool (number of targets,).

    Raises:
        ValueError: for fewer than one person, or another ``reporting``.

    >>> ClearAdjacency(n=3).loss()
    Loss(bit=inf, vector=inf, delta=0.0)
    """

    n: int
    reporting: Reporting = "both"

    name: ClassVar[str] = "clear_adjacency"
    flip_probability: ClassVar[float] = 0.0

    @property
    def weight(self) -> float:
        return IN_CLEAR

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return math.inf if self.most_targets(device, changed) else 0.0


@dataclass(frozen=True)
class ClearFeatures(InClear, FeatureRange):
    """Report the features, clamped to the public range.

    ``value`` and ``report``: float32 (d,). Reports of many devices: float32 CSR (n, d).

    Raises:
        ValueError: for an impossible size or range.

    >>> mechanism = ClearFeatures(d=3)
    >>> mechanism.decode(mechanism.encode(np.array([0.5, 0, 1], np.float32)), device=0).tolist()
    [0.5, 0.0, 1.0]
    """

    d: int
    low: float = 0.0
    high: float = 1.0

    name: ClassVar[str] = "clear_features"

    def value_of(self, record: Record, *, device: int, grouping: Grouping = None) -> np.ndarray:
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
        if not np.array_equal(report != 0, where):
            raise ValueError("a feature of 0 is listed among those that are not 0")
        return report

    def stacker(self, n: int) -> ReportStack:
        """float32 CSR (n, d)."""
        return SparseStack(sparse_one_by_one(self._not_zero), (n, self.d), np.float32)

    def _not_zero(self, data: bytes, *, device: int) -> tuple[np.ndarray, np.ndarray]:
        dense = self.decode(data, device=device)
        where = np.flatnonzero(dense)
        return where, dense[where]

    def evidence(self, report: np.ndarray) -> FloatArray:
        return IN_CLEAR * np.sign(np.asarray(report, np.float64) - (self.low + self.high) / 2)


@dataclass(frozen=True)
class ClearLabel(InClear, OneCategory):
    """Report the label as it is; a label outside the domain counts as the first category.

    ``value`` and ``report``: an integer.

    Raises:
        ValueError: for a domain that is empty or too large.

    >>> ClearLabel(categories=3).decode(b"\\x02\\x00", device=0)
    2
    """

    categories: int

    name: ClassVar[str] = "clear_label"

    def __post_init__(self) -> None:
        if not 1 <= self.categories <= 1 << 16:
            raise ValueError(f"a label needs a domain of 1..65536 categories, not {self.categories}")

    def value_of(self, record: Record, *, device: int, grouping: Grouping = None) -> int:
        return int(self.category(record.label))

    @property
    def weight(self) -> float:
        return IN_CLEAR

    def estimate(self, report: int) -> FloatArray:
        return np.asarray(np.arange(self.categories) == report, np.float64)
