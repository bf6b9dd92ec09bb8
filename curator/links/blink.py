"""Posterior of every link in Blink, from a product prior and randomised bits, without n x n arrays.

The prior of the beta-model has odds s_i s_j. A bit is flipped with odds rho = p / (1 - p). The
posterior odds of a pair are therefore

    s_i s_j * rho^(zeros reported) * rho^(-ones reported) = v_i v_j rho^(-2 t),

where t is the number of ones, and v_i = s_i rho if i reported, s_i if i is silent. P_ij is
odds / (1 + odds).

Pairs without a one have odds v_i v_j. Those above a bound come from a sorted v. As s takes few
distinct values (one a degree), their total is a sum over pairs of values. A pair without a report
has no posterior and is never an edge.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.reports.rows import FlippedRows
from ldpsim.devices.array_types import FloatArray, IntArray

_SLACK = 1 - 1e-12  # v_j >= bound / v_i and v_i v_j >= bound may round differently


@dataclass(frozen=True, eq=False)
class PairOdds:
    """Pairs left < right, int64 (m,), and their posterior odds, float64 (m,)."""

    left: IntArray = field(repr=False)
    right: IntArray = field(repr=False)
    odds: FloatArray = field(repr=False)

    @property
    def probability(self) -> FloatArray:
        """float64 (m,): P = odds / (1 + odds)."""
        return _probability(self.odds)

    def __len__(self) -> int:
        return len(self.left)

    def __getitem__(self, chosen: NDArray) -> PairOdds:
        return PairOdds(self.left[chosen], self.right[chosen], self.odds[chosen])


class LinkPosterior:
    """Posterior of all pairs.

    Args:
        strength: float64 (n,): s, above 0.
        bits: The reported rows, with rho in (0, 1); those of silent people are empty.
    """

    def __init__(self, strength: FloatArray, bits: FlippedRows) -> None:
        self.n, self.reported = bits.n, bits.reported
        self.gain = bits.odds**-2
        self.base = np.where(bits.reported, strength * bits.odds, strength)
        rows = np.repeat(np.arange(self.n), bits.weights)
        columns = bits.ones.indices.astype(np.int64)
        keys = np.minimum(rows, columns) * self.n + np.maximum(rows, columns)
        self._keys, self._times = np.unique(keys, return_counts=True)

    def expected_edges(self) -> float:
        """Sum of P over all pairs."""
        silent = self.base[~self.reported]
        total = _mass(self.base) - (_mass(silent) if len(silent) else 0)
        with_ones = self._with_ones()
        before = self.base[with_ones.left] * self.base[with_ones.right]
        return total + float((with_ones.probability - _probability(before)).sum())

    def above(self, odds: float) -> PairOdds:
        """Return all pairs with posterior odds of at least ``odds``, by left and right end."""
        pairs = self._with_ones()
        pairs = pairs[pairs.odds >= odds]
        rest = self._without_ones(odds)
        left, right, values = (
            np.concatenate([getattr(pairs, name), getattr(rest, name)]) for name in ("left", "right", "odds")
        )
        order = np.argsort(left * self.n + right)
        return PairOdds(left, right, values)[order]

    def most_likely(self, count: int) -> PairOdds:
        """Return the ``count`` pairs with the largest odds, or all if there are fewer.

        Of pairs with equal odds those with smaller ends come first.
        """
        with_ones = self._with_ones()
        before = self.base[with_ones.left] * self.base[with_ones.right]
        values, counts = _products(self.base)
        silent_values, silent_counts = _products(self.base[~self.reported])
        held = [values, silent_values, with_ones.odds, before]
        ones = np.ones(len(with_ones))
        distinct, place = np.unique(np.concatenate(held), return_inverse=True)
        number = np.bincount(place.ravel(), np.concatenate([counts, -silent_counts, ones, -ones]), len(distinct))
        reached = np.flatnonzero(np.cumsum(number[::-1]) >= count)
        if count < 1 or not len(distinct):
            return self.above(np.inf)
        likely = self.above(distinct[::-1][reached[0]] if len(reached) else 0.0)
        return likely[np.argsort(-likely.odds, kind="stable")[:count]]

    def _with_ones(self) -> PairOdds:
        left, right = np.divmod(self._keys, self.n)
        return PairOdds(left, right, self.base[left] * self.base[right] * self.gain**self._times)

    def _without_ones(self, odds: float) -> PairOdds:
        order = np.argsort(-self.base, kind="stable")
        falling = self.base[order]
        # rank a has the partners a + 1 .. reach[a] - 1
        reach = np.searchsorted(-falling, -(odds * _SLACK / falling), side="right")
        partners = np.maximum(reach - np.arange(1, self.n + 1), 0)
        first = np.repeat(np.arange(self.n), partners)
        second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
        first, second = order[first], order[second]
        left, right = np.minimum(first, second), np.maximum(first, second)
        values = self.base[left] * self.base[right]
        mask = (values >= odds) & (self.reported[left] | self.reported[right])
        if len(self._keys):
            keys = left * self.n + right
            near = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            mask &= self._keys[near] != keys
        return PairOdds(left, right, values)[mask]


def _probability(odds: FloatArray) -> FloatArray:
    return odds / (1 + odds)


def _products(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the products of all pairs of these numbers, and the number of pairs of each (unmerged)."""
    distinct, counts = np.unique(values, return_counts=True)
    number = np.triu(np.outer(counts, counts).astype(np.float64), 1)
    np.fill_diagonal(number, counts * (counts - 1) / 2)
    some = number > 0
    return np.outer(distinct, distinct)[some], number[some]


def _mass(values: FloatArray) -> float:
    products, number = _products(values)
    return float((number * _probability(products)).sum())
