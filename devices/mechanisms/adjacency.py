"""Base classes of mechanisms about a person's neighbour list.

The list of device i is a row of bits. With ``both`` it has one bit for every j != i, so
each pair stands in two rows. With ``one-end`` it has one bit for every j < i. The diagonal
is constant and public, so it is never in the row. A device that enrolled as ``one-end``
answers only mechanisms that read no more than that.

A mechanism of another package derives from one of the two classes. :class:`AdjacencyBits`
needs ``perturb``, ``log_probability``, ``estimate``, ``variance`` and ``loss`` alone. With
:class:`AdjacencyMechanism` a report may have any form: ``decode`` returns bool (targets,),
or the class has a ``field`` and a ``stack`` of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from devices.array_types import BoolArray
from devices.facts import PublicFacts
from devices.mechanisms.base import Mechanism, Reporting
from devices.mechanisms.bits import pack_bits, unpack_bits, unpack_positions
from devices.mechanisms.stacking import DataOf, sparse_ones

if TYPE_CHECKING:
    from devices.data.population import Record


class AdjacencyMechanism(Mechanism):
    """Mechanism that reads the row of bits; its dataclass has the fields ``n`` and ``reporting``."""

    n: int
    reporting: Reporting
    attributes: ClassVar[frozenset[str]] = frozenset({"adjacency"})
    field: ClassVar[str] = "adjacency"

    def check_row(self) -> None:
        """Refuse an impossible number of people or ``reporting`` (ValueError)."""
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

    def value_of(self, record: Record, *, device: int, grouping: tuple[int, ...] | None = None) -> Any:
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
        return sparse_ones(rows, self.ones, (n, n))


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
