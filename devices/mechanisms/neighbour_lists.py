"""Bases of mechanisms about the neighbour list.

The neighbour list of device i is a row of bits. With ``both`` it has one bit for every j != i, so each pair stands in
two rows. With ``one-end`` it has one bit for every j < i. The diagonal is constant and public, so it is never in the
row. A device that enrolled as ``one-end`` answers only mechanisms that read no more than that.

A mechanism of another package whose report is a row of bits derives from :class:`AdjacencyBits`. It needs ``draw``,
``log_probability`` and ``loss_of`` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.data.records import Records
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.codecs import pack_rows, unpack_many
from ldpsim.devices.mechanisms.mechanism import Grouping, Mechanism, Reporting, changes
from ldpsim.devices.mechanisms.sparse_batch import ROW, SparseBatch


class AdjacencyMechanism(Mechanism):
    """Mechanism that reads the row of bits; its dataclass has the fields ``n`` and ``reporting``.

    Reports may have any shape. A subclass defines ``field``, the array in ``Reports``, and ``encode`` and ``decode``.
    """

    n: int
    reporting: Reporting
    reads: ClassVar[tuple[str, ...]] = ("adjacency",)
    field: ClassVar[str] = "adjacency"

    def __post_init__(self) -> None:
        if self.n < 1 or self.reporting not in ("both", "one-end"):
            raise ValueError(f"{self.name} needs n >= 1 and reporting both or one-end, not {self.n}, {self.reporting}")

    def agrees_with(self, facts: PublicFacts) -> bool:
        return self.n == facts.n

    def targets(self, device: int) -> int:
        """Return how many bits this device's row has."""
        return self.n - 1 if self.reporting == "both" else device

    def nodes(self, device: Any, positions: np.ndarray) -> np.ndarray:
        """Return the nodes at ``positions`` of the row of a device, or each of one of several devices."""
        return positions + (positions >= device) if self.reporting == "both" else positions

    @property
    def width(self) -> int:
        return self.n

    def values(self, people: Records, devices: IntArray, grouping: Grouping = None) -> Any:
        """Return the row of bits of each device, as :class:`SparseBatch`.

        An id that no node has counts as the nearest one. Nothing is raised, whatever the data.
        """
        rows = np.repeat(np.arange(len(people)), people.neighbour_counts)
        nodes, own = people.neighbours.astype(np.int64).clip(0, self.n - 1), devices[rows]
        places, bits = nodes - (nodes > own), self.no_ones(devices)
        numbers = (rows << ROW | places)[(nodes != own) & (places < bits.sizes[rows])]
        numbers.sort()
        return bits.with_numbers(numbers[np.diff(numbers, prepend=-1) != 0])

    def no_ones(self, devices: IntArray) -> SparseBatch:
        """Return the row of each device without any one."""
        lengths = devices if self.reporting == "one-end" else None
        return SparseBatch(np.zeros(0, np.int64), np.zeros(len(devices), np.int64), self.n - 1, lengths=lengths)

    def most_targets(self, device: int | None, changed: int | None = None) -> int:
        """Return how many bits this device's row has, or this number if it is smaller; of the longest row, if None."""
        return changes(self.n - 1 if device is None else self.targets(device), changed)


class AdjacencyBits(AdjacencyMechanism):
    """Mechanism whose report is one bit for each target, in the order of the row.

    ``value`` and ``report``: bool (number of targets,), by target in rising order; those of many devices are
    :class:`SparseBatch`.
    """

    @property
    def flip_probability(self) -> float | None:
        """Probability that a reported bit is not the true one, the same for a 0 and a 1; None for other noise."""
        return None

    @property
    def flip_odds(self) -> float | None:
        """p / (1 - p) of the flip probability p."""
        p = self.flip_probability
        return None if p is None else p / (1 - p)

    def encode(self, reports: SparseBatch, devices: IntArray) -> list[bytes]:
        return pack_rows(reports.columns, reports.counts, reports.sizes)

    def decode(self, data: Sequence[bytes], devices: IntArray) -> SparseBatch:
        rows = self.no_ones(devices)
        places, counts = unpack_many(data, rows.sizes)
        return replace(rows, columns=places, counts=counts)

    def rows(self, reports: SparseBatch, devices: IntArray) -> SparseBatch:
        """Return the ones that each device reported, by node."""
        if not isinstance(reports, SparseBatch) or reports.values is not None:
            raise ValueError(f"a report of {self.name} is no row of bits: it needs rows of its own")
        owners = np.repeat(devices.astype(reports.columns.dtype), reports.counts)
        return SparseBatch(self.nodes(owners, reports.columns), reports.counts, self.n)
