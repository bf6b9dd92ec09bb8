"""Losses of the reports about one attribute, person by person.

The losses of one person's reports add. Those of different people count where a change touches
the reports of both: an edge is in two lists. A person who is asked one of several questions,
in a batch of its own, loses that one alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.privacy.levels import Unit
from ldpsim.devices.mechanisms import Mechanism

if TYPE_CHECKING:
    from ldpsim.curator.reports.question import Question


def loss_times(loss: float, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """loss * counts, and 0 where nothing was asked, also for an infinite loss."""
    result = np.zeros(len(counts))
    return np.multiply(loss, counts, out=result, where=counts > 0)


@dataclass(frozen=True, eq=False)
class MechanismUse:
    """Use of a mechanism in the questions to all people.

    Args:
        attributes: What its reports depend on.
        mechanism: The mechanism.
        times: int64 (n,): how often each device is asked it.
    """

    attributes: tuple[str, ...]
    mechanism: Mechanism
    times: NDArray[np.int64] = field(repr=False)

    @property
    def one_end(self) -> bool:
        """Whether one end of each pair reports it."""
        return self.mechanism.reporting == "one-end"

    @property
    def reports_smaller_ids(self) -> bool:
        """Whether device i reports about ids j < i and about nothing else; device 0 then reports nothing."""
        return self.one_end and self.attributes == ("adjacency",)

    @property
    def is_whole_list(self) -> bool:
        """Whether a report is about the list as a whole: a change of one entry loses as much as one of all entries."""
        loss = self.mechanism.loss()
        return len(self.times) > 2 and loss.vector == loss.bit < math.inf

    @property
    def max_uses(self) -> int:
        """Largest number of times that a device is asked."""
        return int(self.times.max())

    def entry_loss(self) -> NDArray[np.float64]:
        """float64 (n,): loss of each device's own reports when one entry changes."""
        return loss_times(self.mechanism.loss().bit, self.times)

    def own_loss(self) -> NDArray[np.float64]:
        """float64 (n,): loss of each device's own reports when its whole attribute changes."""
        whole = loss_times(self.mechanism.loss().vector, self.times)
        # device i reports about j < i: i entries, or all at once; a device without such entries may have features
        if self.reports_smaller_ids:
            return np.minimum(loss_times(self.mechanism.loss().bit, np.arange(len(self.times)) * self.times), whole)
        return whole

    def own_loss_of(self, device: int) -> float:
        """Return the loss of one device's own reports; its list may be shorter than others."""
        times, loss = int(self.times[device]), self.mechanism.loss(device=device)
        if not times or self.reports_smaller_ids and not device:
            return 0.0
        return times * (min(loss.bit * device, loss.vector) if self.reports_smaller_ids else loss.vector)

    def reporters(self) -> NDArray[np.int64]:
        """int64 (n,): reports of others that hold a bit about each node."""
        if "adjacency" not in self.attributes:
            return np.zeros_like(self.times)
        total = int(self.times.sum())
        return total - np.cumsum(self.times) if self.one_end else total - self.times

    def others_loss(self) -> NDArray[np.float64]:
        """float64 (n,): loss of the others' reports when each one's entry about a node changes."""
        return loss_times(self.mechanism.loss().bit, self.reporters())

    def edge_reports(self) -> int:
        """Most reports that hold one undirected edge. Both ends report it, unless one end alone does."""
        if self.one_end:  # of a pair only the larger id reports, so node 0 reports nothing
            return int(self.times[1:].max(initial=0))
        return int(np.sort(self.times)[-2:].sum())

    def touched(self, unit: Unit) -> int:
        """Most reports that a change of this unit touches."""
        if unit == "edge":
            return self.edge_reports()
        return self.max_uses + (int(self.reporters().max()) if unit == "node" else 0)


def mechanism_uses(n: int, questions: Sequence[Question]) -> list[MechanismUse]:
    """Return every mechanism that was asked about an attribute, with the numbers of times."""
    times: dict[tuple[tuple[str, ...], Mechanism], NDArray[np.int64]] = {}
    for question in questions:
        for stage in question.query.plan:
            for ask in stage:
                for mechanism in ask.mechanisms:
                    counts = times.setdefault((ask.attributes, mechanism), np.zeros(n, np.int64))
                    counts[slice(None) if question.devices is None else question.devices] += 1
    return [
        MechanismUse(attributes, mechanism, counts) for (attributes, mechanism), counts in times.items() if counts.any()
    ]


def loss_when(unit: Unit, parts: Sequence[MechanismUse]) -> float:
    """Return the loss of all reports about one attribute when an ``entry``, an ``edge`` or the ``whole`` changes."""
    if unit == "edge":
        return _edge(parts)
    losses = [a.entry_loss() if unit == "entry" else a.own_loss() for a in parts]
    return float(np.sum(losses, axis=0).max())


def attained(parts: Sequence[MechanismUse]) -> bool:
    """Return whether some inputs attain the sum of these losses when an entry, a list, a record or a node changes.

    Each mechanism attains its own loss, whatever the others are (``Mechanism.loss_is_tight``), so it is enough that one
    pair of inputs serves all of them: of several mechanisms about features, or about the label, that is not known.
    """
    if not all(a.mechanism.loss_is_tight and len(a.attributes) == 1 for a in parts):
        return False
    several = [a.attributes for a in parts if a.attributes != ("adjacency",)]
    return len(set(several)) == len(several)


def _edge(parts: Sequence[MechanismUse]) -> float:
    """Return the loss of the worst pair: both ends report it, or the larger id alone where one end is asked."""
    larger = np.sum([a.entry_loss() for a in parts], axis=0)
    smaller = np.sum([0 * a.times if a.one_end else a.entry_loss() for a in parts], axis=0)
    before = np.maximum.accumulate(smaller)[:-1]
    return float((larger[1:] + before).max(initial=0.0))
