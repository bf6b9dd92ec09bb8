"""Base classes of mechanisms about a person's neighbour list.

The list of device i is a row of bits. With ``both`` it has one bit for every j != i, so
each pair stands in two rows. With ``one-end`` it has one bit for every j < i. The diagonal
is constant and public, so it is never in the row. A device that enrolled as ``one-end``
answers only mechanisms that read no more than that.

A mechanism of another package derives from one of the three classes. :class:`AdjacencyBits`
needs ``perturb``, ``log_probability``, ``estimate``, ``variance`` and ``loss`` alone.
:class:`NoisyCounts` needs ``value_of``, ``size``, a ``field`` and a ``stack`` alone. With
:class:`AdjacencyMechanism` a report may have any form: ``decode`` returns bool (targets,),
or the class has a ``field`` and a ``stack`` of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ldpsim.devices.array_types import BoolArray, IntArray
from ldpsim.devices.data.population import Record
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import discrete_laplace
from ldpsim.devices.mechanisms.base import Grouping, Mechanism, Reporting, StepNoise
from ldpsim.devices.mechanisms.bits import pack_bits, unpack_bits, unpack_many, unpack_positions
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.mechanisms.integers import pack_integers, unpack_integers
from ldpsim.devices.mechanisms.stacked_reports import DataOf, ReadMany, ReportStack, SparseOnes, sparse_ones
from ldpsim.devices.noise import NoiseStream


def existing(neighbours: np.ndarray, n: int) -> np.ndarray:
    """Return the sorted ids, each once; an id that no node has counts as the nearest one, as in a row of bits."""
    ids = np.sort(neighbours.astype(np.int64).clip(0, n - 1))
    return ids if len(ids) < 2 else ids[np.concatenate(([True], ids[1:] != ids[:-1]))]


class AdjacencyMechanism(Mechanism):
    """Mechanism that reads the row of bits; its dataclass has the fields ``n`` and ``reporting``."""

    n: int
    reporting: Reporting
    attributes: ClassVar[frozenset[str]] = frozenset({"adjacency"})
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

    def most_targets(self, device: int | None) -> int:
        """Return how many bits this device's row has; of the longest row, if None."""
        return self.n - 1 if device is None else self.targets(device)

    def ones(self, data: bytes, *, device: int) -> np.ndarray:
        """Return the sorted nodes about which a report says 1; ValueError for a report that is no row of bits."""
        report = np.asarray(self.decode(data, device=device))
        if report.dtype != np.bool_ or report.shape != (self.targets(device),):
            raise ValueError(f"a report of {self.name} is no row of bits: it needs a field and a stack of its own")
        return self.nodes(device, np.flatnonzero(report))

    def stack(self, rows: DataOf, n: int) -> Any:
        """bool CSR (n, n): row i holds the ones that device i reported."""
        return sparse_ones(rows, self.ones, (n, n), self._ones_of_many)

    def stacker(self, n: int) -> ReportStack:
        own = type(self).stack is not AdjacencyMechanism.stack
        return super().stacker(n) if own else SparseOnes(self.ones, (n, n), self._ones_of_many)

    @property
    def _ones_of_many(self) -> ReadMany | None:
        """:meth:`ones` of several devices, joined, where there is a quicker way than one by one."""
        return None


class AdjacencyBits(AdjacencyMechanism):
    """Mechanism whose report is one bit for each target, in the order of the row.

    ``value`` and ``report``: bool (number of targets,), by target in rising order.
    """

    def encode(self, report: BoolArray) -> bytes:
        return pack_bits(report)

    def decode(self, data: bytes, *, device: int) -> BoolArray:
        return unpack_bits(data, self.targets(device))

    def ones(self, data: bytes, *, device: int) -> np.ndarray:
        return self.nodes(device, unpack_positions(data, self.targets(device)))

    @property
    def _ones_of_many(self) -> ReadMany | None:
        return self._unpack_many if type(self).ones is AdjacencyBits.ones else None

    def _unpack_many(self, rows: Sequence[bytes], devices: IntArray) -> tuple[IntArray, IntArray]:
        both = self.reporting == "both"
        places, counts = unpack_many(rows, np.full(len(rows), self.n - 1) if both else devices)
        return (places + (places >= np.repeat(devices.astype(places.dtype), counts)) if both else places), counts


class NoisyCounts(AdjacencyMechanism):
    """Mechanism that adds discrete Laplace noise to counts; its dataclass has the fields ``t`` and ``s`` too.

    One bit of the row moves one count by ``grid``. ``value`` and ``report``: int64 (size,).
    """

    t: int
    s: int
    grid: int = 1
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        discrete_laplace.check_scale(self.t, self.s)
        super().__post_init__()

    @property
    def step_noise(self) -> StepNoise:
        return StepNoise(self.t, self.s, self.grid)

    def size(self, device: int) -> int:
        """Return how many counts this device reports."""
        return self.targets(device)

    def perturb(self, value: Any, noise: NoiseStream) -> Any:
        return value + discrete_laplace.sample(noise, self.t, self.s, len(value))

    def encode(self, report: Any) -> bytes:
        return pack_integers(report)

    def decode(self, data: bytes, *, device: int) -> Any:
        return unpack_integers(data, self.size(device))

    def log_probability(self, report: Any, value: Any) -> float:
        return discrete_laplace.log_probability(report - value, self.t, self.s)

    def estimate(self, report: Any) -> Any:
        return report / self.grid

    def variance(self, value: Any) -> Any:
        return np.full(len(value), discrete_laplace.variance(self.t, self.s) / self.grid**2)

    def loss(self, *, device: int | None = None) -> Loss:
        return discrete_laplace.loss(self.t, self.s, entries=self.most_targets(device), shift=self.grid)
