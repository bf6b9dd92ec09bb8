"""Counts of agreement and disagreement between each person's row and what the others report about that person.

For honest i and j, r_ij and r_ji are one bit under two independent flips of probability q (p = 1 - q). They differ
with probability 2 p q, and i says 1 where j says 0 with probability p q, whether there is an edge or not. Among N
others who reported, therefore, whatever the graph:

    disagreements D                 ~ Bin(N, 2 p q)
    own 1 against the other's 0, U  ~ Bin(N, p q)
    U, given D                      ~ Bin(D, 1/2)

Many liars move honest people's counts too. So the worst people are dropped and the others are counted again
without them (:func:`drop_and_repeat`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from curator.reports.agreed_pairs import agreed_ones
from devices.array_types import BoolArray, FloatArray, IntArray

_NEAR_WORST = 0.9  # share of the worst excess from which people are dropped together


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Counts among the people in ``among``, int64 (n,) each.

    Args:
        others: Number of others.
        own: Ones in the own row.
        about: Ones in others' rows about this person.
        both: Ones that both ends report.
    """

    others: IntArray = field(repr=False)
    own: IntArray = field(repr=False)
    about: IntArray = field(repr=False)
    both: IntArray = field(repr=False)

    @property
    def unconfirmed(self) -> IntArray:
        """int64 (n,): U, own 1 against the other's 0."""
        return self.own - self.both

    @property
    def unclaimed(self) -> IntArray:
        """int64 (n,): own 0 against the other's 1."""
        return self.about - self.both

    @property
    def disagreements(self) -> IntArray:
        """int64 (n,): D."""
        return self.unconfirmed + self.unclaimed


class RowPairs:
    """Counts pairs of rows that both ends report, bool CSR (n, n)."""

    def __init__(self, ones: csr_array) -> None:
        self._ones = ones.astype(np.int32)
        self._both = agreed_ones(ones).astype(np.int32)

    def among(self, people: BoolArray) -> PairCounts:
        """Return the counts among these people, bool (n,); those of all others mean nothing."""
        here = people.astype(np.int32)
        others = np.int64(here.sum()) - people
        own, about, both = (np.asarray(matrix @ here, np.int64) for matrix in (self._ones, self._ones.T, self._both))
        return PairCounts(others, own, about, both)


def drop_and_repeat(excess: Callable[[BoolArray], FloatArray], people: BoolArray) -> BoolArray:
    """Flag the worst people, and judge the others again without them, until nobody is flagged.

    Args:
        excess: float (n,) of people who are compared with one another alone: the distance from what is expected for
            a person who fails the test, 0 for one who passes.
        people: bool (n,): those who are judged.

    Returns:
        bool (n,). In an honest population, anybody is flagged only if somebody fails the first test of all.
    """
    left = people.copy()
    while left.any():
        found = np.where(left, excess(left), 0.0)
        worst = float(found.max(initial=0.0))
        if worst <= 0:
            break
        left &= found < _NEAR_WORST * worst
    return people & ~left


def distance(count: IntArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """float (n,): distance from the mean in standard deviations, at least a small number."""
    return np.asarray(np.maximum(np.abs(count - mean), 1e-9) / np.sqrt(np.maximum(variance, 1e-9)))
