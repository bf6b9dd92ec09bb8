"""Attributes in clear: no noise, an infinite loss, ``unprotected`` in every result.

Some papers have settings in which an attribute is not private but is still collected from
its owner (eps = inf). A device answers only if its policy allows an infinite loss.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldpsim.devices.array_types import BoolArray, FloatArray, IntArray
from ldpsim.devices.data.records import Records
from ldpsim.devices.mechanisms.categories import OneCategory
from ldpsim.devices.mechanisms.codecs import pack_rows, unpack_many
from ldpsim.devices.mechanisms.features import FeatureRange
from ldpsim.devices.mechanisms.mechanism import Grouping, Mechanism, Reporting, changes
from ldpsim.devices.mechanisms.neighbour_lists import AdjacencyBits
from ldpsim.devices.mechanisms.sparse_batch import SparseBatch
from ldpsim.devices.noise import Noise

IN_CLEAR = 1e9  # log-odds of a value that is reported in clear: noise can never add up to as much


class InClear(Mechanism):
    """Mechanism whose report is the value."""

    in_clear: ClassVar[bool] = True
    sampler: ClassVar[int] = 1  # nothing is drawn

    def draw(self, values: Any, noise: Noise) -> Any:
        return values

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

    def log_likelihood(self, report: BoolArray) -> FloatArray:
        return IN_CLEAR * (2.0 * np.asarray(report) - 1)

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return math.inf if self.most_targets(device, changed) else 0.0


@dataclass(frozen=True)
class ClearFeatures(InClear, FeatureRange):
    """Report the features, clamped to the public range.

    ``value`` and ``report``: float32 (d,). Reports of many devices: float32 CSR (n, d).

    Raises:
        ValueError: for an impossible size or range.

    >>> mechanism = ClearFeatures(d=3)
    >>> rows = SparseBatch.of([np.array([0.5, 0, 1], np.float32)])
    >>> mechanism.decode(mechanism.encode(rows, np.array([0])), np.array([0]))[0].tolist()
    [0.5, 0.0, 1.0]
    """

    d: int
    low: float = 0.0
    high: float = 1.0

    name: ClassVar[str] = "clear_features"

    def values(self, people: Records, devices: IntArray, grouping: Grouping = None) -> SparseBatch:
        dense = super().values(people, devices)
        dense = np.fmin(np.fmax(dense, np.float32(self.low)), np.float32(self.high))
        rows, columns = np.nonzero(dense)
        return SparseBatch(columns, np.bincount(rows, minlength=len(dense)), self.d, dense[rows, columns])

    def encode(self, reports: SparseBatch, devices: IntArray) -> list[bytes]:
        assert reports.values is not None
        data, ends = reports.values.astype("<f4"), np.cumsum(reports.counts)
        where = pack_rows(reports.columns, reports.counts, reports.sizes)
        values = np.split(data, ends[:-1]) if len(ends) else []
        return [struct.pack("<I", len(own)) + own + some.tobytes() for own, some in zip(where, values, strict=True)]

    def decode(self, data: Sequence[bytes], devices: IntArray) -> SparseBatch:
        """float32 rows of the features that are not 0."""
        if any(len(each) < 4 for each in data):
            raise ValueError("a report of features is cut off")
        ends = [4 + struct.unpack_from("<I", each)[0] for each in data]
        where = [each[4:end] for each, end in zip(data, ends, strict=True)]
        columns, counts = unpack_many(where, np.full(len(data), self.d))
        rest = [each[end:] for each, end in zip(data, ends, strict=True)]
        if [len(each) for each in rest] != (4 * counts).tolist():
            raise ValueError("a report of features is cut off")
        values = np.frombuffer(b"".join(rest), "<f4").astype(np.float32)
        if not np.all((values >= np.float32(self.low)) & (values <= np.float32(self.high))):
            raise ValueError("a feature lies outside its range")
        outside = not self.low <= 0 <= self.high and np.any(counts < self.d)
        if outside or not values.all():
            raise ValueError("a feature of 0 is listed among those that are not 0, or lies outside the range")
        return SparseBatch(columns, counts, self.d, values)

    def log_likelihood(self, report: np.ndarray) -> FloatArray:
        return IN_CLEAR * np.sign(np.asarray(report, np.float64) - (self.low + self.high) / 2)


@dataclass(frozen=True)
class ClearLabel(InClear, OneCategory):
    """Report the label as it is; a label outside the domain counts as the first category.

    ``value`` and ``report``: an integer.

    Raises:
        ValueError: for a domain that is empty or too large.

    >>> ClearLabel(categories=3).decode([b"\\x02\\x00"], np.array([0])).tolist()
    [2]
    """

    categories: int

    name: ClassVar[str] = "clear_label"

    def __post_init__(self) -> None:
        if not 1 <= self.categories <= 1 << 16:
            raise ValueError(f"a label needs a domain of 1..65536 categories, not {self.categories}")

    def values(self, people: Records, devices: IntArray, grouping: Grouping = None) -> IntArray:
        return np.asarray(self.category(people.labels))

    def log_likelihood(self, report: int) -> FloatArray:
        return IN_CLEAR * (np.arange(self.categories) == report)

    def estimate(self, report: int) -> FloatArray:
        return np.asarray(np.arange(self.categories) == report, np.float64)
