"""A vote: a score of each class from one's neighbour list and a public table, and a response about the best one.

A kind of vote says what its devices make of the scores (``value_of``). They report it through generalised randomised
response, which is the only noise, so its loss is the loss of the vote. The scores are whole numbers.

The curator publishes a class distribution Q_j of every person (:mod:`class_table`) and an
affinity Om between classes. Device i computes, from its own list N_i alone,

    s_c = ln Q_i(c) + sum over j in N_i of ln(sum over k of Om[c, k] Q_j(k)).

A person of whom nothing is known adds nothing. Every term is a whole number, so a sum is the
same in any order. Lists are padded to a multiple of 2,048 entries: up to that length the time
that the scores take does not depend on the number of neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray, IntArray
from ldpsim.devices.data.population import Records
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.base import Mechanism, Reporting, whole_numbers
from ldpsim.devices.mechanisms.class_table import (
    FORMS,
    LARGEST_AFFINITY,
    MOST_CLASSES,
    ClassTable,
    affinity_weights,
    quantised,
)
from ldpsim.devices.mechanisms.exact_loss import probability_threshold
from ldpsim.devices.mechanisms.labels import GRR
from ldpsim.devices.mechanisms.stacked_reports import Filled, ReportStack

PADDED = 2048  # entries to which a list is padded
_TOGETHER = 16  # rows that numpy adds as one: a sum over short rows alone is slow

_ENTRIES = 1 << 22  # numbers that are added up at once, for many devices


@dataclass(frozen=True, kw_only=True)
class ScoredVote(Mechanism):
    """Mechanism that reads the list by its scores alone; every kind of vote has these fields.

    ``report``: an integer 0 .. number of values - 1, in one byte.

    Args:
        lie: 64-bit threshold of the response: the probability of the answer that is least likely to be true.
        people: Number of people n.
        classes: Number of classes, 2 .. 255.
        table: The class distributions of all people (:func:`class_table.quantised`).
        affinity: classes x classes whole numbers 1 .. 2**16, row by row (:class:`class_table.ClassTable`).
        own: Whether the scores begin with the device's own row of the table.
        form: ``full`` or ``codes``, the form of the table.
        reporting: ``both`` reads the whole list, ``one-end`` the neighbours before the device.

    Raises:
        ValueError: for anything that is not of this form.
    """

    lie: int
    people: int
    classes: int
    table: str
    affinity: tuple[int, ...]
    own: bool = True
    form: str = "full"
    reporting: Reporting = "both"

    reads: ClassVar[tuple[str, ...]] = ("adjacency",)
    field: ClassVar[str] = "votes"
    # Parameters that the answers of others decide. A collector's terms leave them open, and state the loss.
    by_answers: ClassVar[frozenset[str]] = frozenset({"lie", "table", "affinity"})

    def __post_init__(self) -> None:
        if self.reporting not in ("both", "one-end") or self.form not in FORMS:
            raise ValueError(f"a vote is of both or one-end and {', '.join(FORMS)}, not {self.reporting}, {self.form}")
        if self.people < 1 or not 2 <= self.classes <= MOST_CLASSES:
            raise ValueError(f"a vote needs people and 2..{MOST_CLASSES} classes, not {self.people}, {self.classes}")
        if len(self.affinity) != self.classes**2 or not whole_numbers(self.affinity, least=1):
            raise ValueError("an affinity is classes x classes whole numbers above 0")
        if max(self.affinity) > LARGEST_AFFINITY:
            raise ValueError(f"an affinity is at most {LARGEST_AFFINITY}")
        _ = self._read  # before anybody's data are read; the table's length bounds the number of people

    @staticmethod
    def published(
        probabilities: FloatArray, *, homophily: float | None = None, affinity: FloatArray | None = None,
        form: str = "full", **more: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """Return the fields of a vote over these class distributions.

        Args:
            probabilities: float (n, classes), rows of any scale; a row of zeros is an unknown person.
            homophily: h of the affinity h [c = k] + (1 - h) / classes; 0 or more, below 1.
            affinity: float (classes, classes) in its place: row c, the classes of neighbours of class c.
            form: As the field.
            more: ``own`` and ``reporting``, as the fields.

        Raises:
            ValueError: for impossible values, and unless one of homophily and affinity is given.
        """
        table = quantised(probabilities, form)
        n, classes = np.shape(probabilities)
        weights = affinity_weights(classes, homophily, affinity)
        return {"people": n, "classes": classes, "table": table, "affinity": weights, "form": form, **more}

    def with_epsilon(self, epsilon: float) -> Self:
        """Return the same vote with a loss of at most ``epsilon``."""
        return replace(self, lie=probability_threshold(epsilon, self.values - 1))

    @property
    def values(self) -> int:
        """Largest number of values that a device chooses from."""
        raise NotImplementedError

    def values_of(self, device: int) -> int:
        """Return how many values a device chooses from."""
        return self.values

    def response(self, values: int) -> GRR:
        """Return the response of a device that chooses from this many values."""
        raise NotImplementedError

    def encode(self, report: int) -> bytes:
        return int(report).to_bytes(1, "little")

    def decode(self, data: bytes, *, device: int) -> int:
        if len(data) != 1 or data[0] >= self.values_of(device):
            raise ValueError(f"not a report of {self.name}")
        return data[0]

    def stacker(self, n: int) -> ReportStack:
        """int64 (n,), -1 where no report came."""
        return Filled(self.decode, np.full(n, -1, np.int64))

    def estimate(self, report: int) -> FloatArray:
        """Return the response's unbiased estimate, for a device with the largest number of values."""
        return self.response(self.values).estimate(report)

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return self.response(self.values if device is None else self.values_of(device)).loss_of()

    def agrees_with(self, facts: PublicFacts) -> bool:
        return (self.people, self.classes) == (facts.n, facts.classes)

    @cached_property
    def _read(self) -> ClassTable:
        affinity = np.array(self.affinity, np.int64).reshape(self.classes, self.classes)
        return ClassTable.read(self.table, self.form, self.people, affinity)

    @cached_property
    def _evidence(self) -> IntArray:
        """int64 (rows + 1, classes + 1): what a neighbour adds to each score, and to the number of known ones.

        The last row is the padding: it adds nothing.
        """
        made = np.zeros((len(self._read.rows) + 1, self.classes + 1), np.int64)
        made[:-1, :-1] = self._read.evidence.T
        made[:-1, -1] = ~self._read.unknown
        return made

    @property
    def ranked(self) -> NDArray[np.uint8]:
        """uint8 (n, classes): the classes of each person, the likeliest by the person's own row first."""
        return self._read.ranked

    def padded(self, device: int, neighbours: np.ndarray) -> IntArray:
        """int64 (a multiple of 2,048,): the neighbours that count, and otherwise n, which adds nothing.

        An id that no node has counts as the nearest one. Nothing is raised, whatever the data.
        """
        size = PADDED * max(1, -(-len(neighbours) // PADDED))
        rows = np.full(size, self.people)
        end = device if self.reporting == "one-end" else self.people
        near = np.minimum(np.maximum(neighbours, 0), self.people - 1)
        rows[: len(near)] = np.where((near == device) | (near >= end), self.people, near)
        return rows

    def scores(self, neighbours: np.ndarray, device: int) -> tuple[IntArray, int]:
        """Return int64 (classes,) in units of :mod:`ldpsim.devices.fixed_point`, and how many neighbours are known."""
        rows = self._read.row_of(self.padded(device, neighbours))
        if self._read.codes is None:
            added = self._evidence.take(rows, axis=0)
            scores = added.reshape(-1, _TOGETHER * (self.classes + 1)).sum(axis=0).reshape(_TOGETHER, -1).sum(axis=0)
        else:  # few rows: how often each one occurs takes less room
            scores = np.bincount(rows, minlength=len(self._evidence)) @ self._evidence
        seen = int(scores[-1])
        if self.own:
            scores[:-1] += self._read.own[self._read.row_of(np.array(device))]
        return scores[:-1], seen

    def scores_of_many(self, people: Records, devices: Sequence[int]) -> IntArray:
        """int64 (people, classes): the scores of :meth:`scores` of many devices. The time depends on their lists."""
        owner = np.repeat(np.asarray(devices, np.int64), people.neighbour_counts)
        near = np.clip(people.neighbours.astype(np.int64), 0, self.people - 1)
        end = owner if self.reporting == "one-end" else self.people
        rows = self._read.row_of(np.where((near == owner) | (near >= end), self.people, near))
        scores = sums_of_rows(self._evidence[:, :-1], rows, people.neighbour_starts)
        if self.own:
            scores += self._read.own[self._read.row_of(np.asarray(devices, np.int64))]
        return scores


def sums_of_rows(table: IntArray, rows: IntArray, starts: IntArray, times: IntArray | None = None) -> IntArray:
    """int64 (people, columns): for each person the sum of the table's rows that the person has, modulo 2**64.

    Args:
        table: int64 (rows of the table, columns).
        rows: int64: the numbers of the rows, of all people joined.
        starts: int64 (people + 1,): where the rows of each person start and end.
        times: int64: how often each row counts; None for once.
    """
    found = np.zeros((len(starts) - 1, table.shape[1]), np.int64)
    most, first = max(1, _ENTRIES // table.shape[1]), 0
    while first < len(found):  # so many people that what is added at once stays small
        end = max(first + 1, int(np.searchsorted(starts, starts[first] + most, "right")) - 1)
        own = slice(starts[first], starts[end])
        total = np.zeros((int(starts[end] - starts[first]) + 1, table.shape[1]), np.int64)
        table.take(rows[own], axis=0, out=total[1:], mode="clip")  # all rows are there; any other mode would copy
        if times is not None:
            total[1:] *= times[own, None]
        total.cumsum(axis=0, out=total)
        found[first:end] = np.diff(total[starts[first : end + 1] - starts[first]], axis=0)
        first = end
    return found
