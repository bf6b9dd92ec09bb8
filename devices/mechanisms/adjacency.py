"""Base classes of mechanisms about a person's neighbour list.

The list of device i is a row of bits. With ``both`` it has one bit for every j != i, so
each pair stands in two rows. With ``one-end`` it has one bit for every j < i. The diagonal
is constant and public, so it is never in the row. A device that enrolled as ``one-end``
answers only mechanisms that read no more than that.

A mechanism of another package whose report is a row of bits derives from :class:`AdjacencyBits`. It needs
``perturb``, ``log_probability`` and ``loss_of`` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ldpsim.devices.array_types import BoolArray, IntArray
from ldpsim.devices.data.population import Record
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.base import Grouping, Mechanism, Reporting
from ldpsim.devices.mechanisms.bits import pack_bits, unpack_bits, unpack_many
from ldpsim.devices.mechanisms.stacked_reports import ReportStack, SparseStack


def existing(neighbours: np.ndarray, n: int) -> np.ndarray:
    """Return the sorted ids, each once; an id that no node has counts as the nearest one, as in a row of bits."""
    ids = np.sort(neighbours.astype(np.int64).clip(0, n - 1))
    return ids if len(ids) < 2 else ids[np.concatenate(([True], ids[1:] != ids[:-1]))]


class AdjacencyMechanism(Mechanism):
    """Mechanism that reads the row of bits; its dataclass has the fields ``n`` and ``reporting``.

    Its report has any form; it names the ``field`` that it fills, and has the ``stacker`` that does.
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

    def positions(self, device: int, nodes: np.ndarray) -> np.ndarray:
        """Return the places of ``nodes`` in this device's row.

        Nodes that are not in the row are dropped silently: the device itself, nodes that do
        not exist and, with ``one-end``, nodes after the device.
        """
        end = device if self.reporting == "one-end" else self.n
        reported = nodes[(nodes >= 0) & (nodes < end) & (nodes != device)]
        return reported - (reported > device)

    def nodes(self, device: int, positions: np.ndarray) -> np.ndarray:
        """Return the nodes at ``positions`` of the row: the inverse of :meth:`positions`."""
        return positions + (positions >= device) if self.reporting == "both" else positions

    def row(self, device: int, neighbours: np.ndarray) -> BoolArray:
        """bool (targets,): this device's row before noise.

        An id that no node has counts as the nearest one. Nothing is raised, whatever the data.
        """
        whole = np.zeros(self.n, np.bool_)
        whole.put(neighbours, True, mode="clip")
        after = () if self.reporting == "one-end" else (whole[device + 1 :],)
        return np.concatenate((whole[:device], *after))

    def value_of(self, record: Record, *, device: int, grouping: Grouping = None) -> Any:
        return self.row(device, record.neighbours)

    def most_targets(self, device: int | None, changed: int | None = None) -> int:
        """Return how many bits this device's row has, or this number if it is smaller; of the longest row, if None."""
        size = self.n - 1 if device is None else self.targets(device)
        return size if changed is None else min(size, changed)


class AdjacencyBits(AdjacencyMechanism):
    """Mechanism whose report is one bit for each target, in the order of the row.

    ``value`` and ``report``: bool (number of targets,), by target in rising order.
    """

    @property
    def flip_odds(self) -> float | None:
        """p / (1 - p) of the flip probability p."""
        p = self.flip_probability
        return None if p is None else p / (1 - p)

    def encode(self, report: BoolArray) -> bytes:
        return pack_bits(report)

    def decode(self, data: bytes, *, device: int) -> BoolArray:
        return unpack_bits(data, self.targets(device))

    def stacker(self, n: int) -> ReportStack:
        """bool CSR (n, n): row i holds the ones that device i reported."""
        coded = type(self).decode is AdjacencyBits.decode
        return SparseStack(self._ones, (n, n), read_many=self._ones_of_many if coded else None)

    def _ones(self, data: bytes, *, device: int) -> IntArray:
        """Return the sorted nodes about which a report says 1; ValueError for a report that is no row of bits."""
        report = np.asarray(self.decode(data, device=device))
        if report.dtype != np.bool_ or report.shape != (self.targets(device),):
            raise ValueError(f"a report of {self.name} is no row of bits: it needs a stacker of its own")
        return self.nodes(device, np.flatnonzero(report))

    def _ones_of_many(self, rows: Sequence[bytes], devices: IntArray) -> tuple[IntArray, IntArray]:
        both = self.reporting == "both"
        places, counts = unpack_many(rows, np.full(len(rows), self.n - 1) if both else devices)
        return (places + (places >= np.repeat(devices.astype(places.dtype), counts)) if both else places), counts
