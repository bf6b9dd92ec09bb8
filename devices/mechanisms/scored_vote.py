"""Scores of the classes from one's neighbour list and a public table, in whole numbers.

The curator publishes a class distribution Q_j of every person (:mod:`class_table`) and an
affinity Om between classes. Device i computes, from its own list N_i alone,

    s_c = ln Q_i(c) + sum over j in N_i of ln(sum over k of Om[c, k] Q_j(k)).

A person of whom nothing is known adds nothing. Every term is a whole number, so a sum is the
same in any order. Lists are padded to a multiple of 2,048 entries: up to that length the time
that the scores take does not depend on the number of neighbours.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from devices.array_types import IntArray
from devices.facts import PublicFacts
from devices.mechanisms.base import Mechanism, Reporting, whole_numbers
from devices.mechanisms.class_table import FORMS, LARGEST_AFFINITY, MOST_CLASSES, ClassTable, from_text

PADDED = 2048  # entries to which a list is padded
_TOGETHER = 16  # rows that numpy adds as one: a sum over short rows alone is slow


class ScoredVote(Mechanism):
    """Mechanism that reads the list by its scores alone; its dataclass has these fields.

    Args:
        people: Number of people n.
        classes: Number of classes, 2 .. 255.
        table: The class distributions of all people (:func:`class_table.quantised`).
        affinity: classes x classes whole numbers 1 .. 2**16, row by row (:class:`class_table.ClassTable`).
        own: Whether the scores begin with the device's own row of the table.
        form: ``full`` or ``likeliest``, the form of the table.
        reporting: ``both`` reads the whole list, ``one-end`` the neighbours before the device.

    Raises:
        ValueError: for anything that is not of this form.
    """

    people: int
    classes: int
    table: str
    affinity: tuple[int, ...]
    own: bool
    form: str
    reporting: Reporting
    attributes: ClassVar[frozenset[str]] = frozenset({"adjacency"})

    def __post_init__(self) -> None:
        if self.reporting not in ("both", "one-end") or self.form not in FORMS:
            raise ValueError(f"a vote is of both or one-end and full or likeliest, not {self.reporting}, {self.form}")
        if self.people < 1 or not 2 <= self.classes <= MOST_CLASSES:
            raise ValueError(f"a vote needs people and 2..{MOST_CLASSES} classes, not {self.people}, {self.classes}")
        if len(self.affinity) != self.classes**2 or not whole_numbers(self.affinity, least=1):
            raise ValueError("an affinity is classes x classes whole numbers above 0")
        if max(self.affinity) > LARGEST_AFFINITY:
            raise ValueError(f"an affinity is at most {LARGEST_AFFINITY}")
        _ = self._read  # before anybody's data are read; the table's length bounds the number of people

    def values_of(self, device: int) -> int:
        """Return how many values a device chooses from; 2 unless overridden."""
        return 2

    def agrees_with(self, facts: PublicFacts) -> bool:
        return (self.people, self.classes) == (facts.n, facts.classes)

    @cached_property
    def _read(self) -> ClassTable:
        shape = (self.people,) if self.form == "likeliest" else (self.people, self.classes)
        size = self.people if self.form == "likeliest" else self.people * self.classes
        affinity = np.array(self.affinity, np.int64).reshape(self.classes, self.classes)
        return ClassTable(from_text(self.table, size).reshape(shape), affinity)

    @cached_property
    def _evidence(self) -> IntArray:
        """int64 (n + 1, classes + 1): what each neighbour adds to each score, and to the number of known ones.

        Row n is the padding: it adds nothing.
        """
        made = np.zeros((self.people + 1, self.classes + 1), np.int64)
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
        """Return int64 (classes,), in units of :mod:`devices.fixed_point`, and the number of known neighbours."""
        added = self._evidence.take(self.padded(device, neighbours), axis=0)
        scores = added.reshape(-1, _TOGETHER * (self.classes + 1)).sum(axis=0).reshape(_TOGETHER, -1).sum(axis=0)
        seen = int(scores[-1])
        if self.own:
            scores[:-1] += self._read.own[device]
        return scores[:-1], seen
