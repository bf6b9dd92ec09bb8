"""What mechanisms about a person's neighbour list share: who is reported about, by which end.

The list of device i is a row of bits, one for every j != i (``both``: each pair stands in
two rows) or for j < i only (``one-end``). The diagonal is constant and public and never
in it. A device that enrolled as ``one-end`` answers only mechanisms that read no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from devices.facts import PublicFacts
from devices.mechanisms.base import BoolArray, Mechanism

if TYPE_CHECKING:
    from devices.data.population import Record

Reporting = Literal["both", "one-end"]


class AboutList(Mechanism):
    """A mechanism that reads the row of bits; its dataclass has the fields ``n`` and ``reporting``."""

    n: int
    reporting: Reporting
    attributes: ClassVar[frozenset[str]] = frozenset({"adjacency"})

    def check_list(self) -> None:
        """Refuse a number of people or a reporting that makes no sense (ValueError)."""
        if self.n < 1 or self.reporting not in ("both", "one-end"):
            raise ValueError(f"{self.name} needs n >= 1 and reporting both or one-end, not {self.n}, {self.reporting}")

    def agrees_with(self, facts: PublicFacts) -> bool:
        return self.n == facts.n

    def targets(self, device: int) -> int:
        """Return how many bits this device reports."""
        return self.n - 1 if self.reporting == "both" else device

    def positions(self, device: int, nodes: np.ndarray) -> np.ndarray:
        """Return where ``nodes`` stand in this device's row.

        Nodes that it does not report are dropped silently: itself, those that do not
        exist and, with ``one-end``, those after it.
        """
        end = device if self.reporting == "one-end" else self.n
        reported = nodes[(nodes >= 0) & (nodes < end) & (nodes != device)]
        return reported - (reported > device)

    def nodes(self, device: int, positions: np.ndarray) -> np.ndarray:
        """Return the nodes that stand at ``positions``: the inverse of :meth:`positions`."""
        return positions + (positions >= device) if self.reporting == "both" else positions

    def row(self, device: int, neighbours: np.ndarray) -> BoolArray:
        """bool (targets,): what this device's row says before noise; never the diagonal.

        An id that no node has counts as the nearest one: nothing is raised, whatever the data.
        """
        whole = np.zeros(self.n, np.bool_)
        whole.put(neighbours, True, mode="clip")
        after = () if self.reporting == "one-end" else (whole[device + 1 :],)
        return np.concatenate((whole[:device], *after))

    def value_of(self, record: Record, *, device: int, grouping: tuple[int, ...] | None = None) -> Any:
        return self.row(device, record.neighbours)

    def most_targets(self, device: int | None) -> int:
        """Return how many bits this device, or the one with the longest row, reports about."""
        return self.n - 1 if device is None else self.targets(device)
