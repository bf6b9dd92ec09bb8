"""The beta-model of a graph, fitted to degrees (Chatterjee, Diaconis and Sly 2011).

Edges are independent with Pr[i ~ j] = s_i s_j / (1 + s_i s_j), s_i = e^{beta_i}. The
maximum-likelihood s is the fixed point of

    s_i <- d_i / sum_{j != i} s_j / (1 + s_i s_j).

Blink iterates it 200 times from s = 1. People of the same degree have the same s in every step,
so the iteration runs over the distinct degrees with their counts. The numbers are the same, and
no array has size n x n.

Random graphs with given expected degrees towards groups (Chung and Lu 2002, in blocks).

Each person is in one of k groups and has a weight d_ib >= 0 towards each group b. With M_ab
expected edges between the groups a and b, the pair of i in a and j in b has

    q_ij = M_ab d_ib d_ja / (D_ab D_ba),   D_ab = the sum of d_ib over i in a

expected edges (twice that inside a group, where both sums count the pair). The number of edges
is drawn from a Poisson law, and several edges of one pair are one edge, so that

    p_ij = 1 - exp(-q_ij),

the form of Norros and Reittu (2006). A graph of E edges takes O(E) draws, not n^2.

Posterior of every link in Blink, from a product prior and randomised bits, without n x n arrays.

The prior of the beta-model has odds s_i s_j. A bit is flipped with odds rho = p / (1 - p). The
posterior odds of a pair are therefore

    s_i s_j * rho^(zeros reported) * rho^(-ones reported) = v_i v_j rho^(-2 t),

where t is the number of ones, and v_i = s_i rho if i reported, s_i if i is silent. P_ij is
odds / (1 + odds).

Pairs without a one have odds v_i v_j. Those above a bound come from a sorted v. As s takes few
distinct values (one a degree), their total is a sum over pairs of values. A pair without a report
has no posterior and is never an edge.

Directed LDPGen graph of the published code; p_ij depends on the groups of i and j only.

With h_ib the estimated degree of i towards the group b, H_b the sum of h_ib over all people and
H_ab the sum over the members of a, i in group a has a link to each j in group b with probability

    p_ij = min(1, h_ib (H_b / |b|) / (H_b + H_ab)).

Apart from its group, j does not enter. With one group, p_ij = h_i / 2n: the number of links of i
is kept, and their targets are random. Chung and Lu's model (:mod:`ldpsim.curator.links.blink`) uses
the degrees of both ends.

The degrees are the reported ones, rounded to 0..n - 1, carried over to the new groups:

    h_ib = sum over the old groups a of d_ia |a and b| / |a|.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.reports.rows import FlippedRows
from ldpsim.devices.array_types import FloatArray, IntArray

STEPS = 200
TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class BetaModel:
    """A fitted model.

    Args:
        strength: float64 (n,): s_i.
        steps: Number of steps taken.
        converged: True if the last step changed no beta by more than 1e-10.
    """

    strength: NDArray[np.float64] = field(repr=False)
    steps: int
    converged: bool


def fit_beta_model(degrees: NDArray, *, steps: int = STEPS) -> BetaModel:
    """Fit the model to degrees.

    Some degrees have no maximum (no model has them as expectations). The iteration then does not
    settle and ends after ``steps``.

    Args:
        degrees: (n,), each above 0 and below n - 1.
        steps: Largest number of steps; the iteration stops early once no beta changes by more than 1e-10.

    Raises:
        ValueError: for a degree outside its range.

    >>> fit_beta_model(np.array([2, 2, 2, 2])).strength.round(3)  # every pair: 2 / 3
    array([1.414, 1.414, 1.414, 1.414])
    """
    n = len(degrees)
    if n and not (degrees.min() > 0 and degrees.max() < n - 1):
        raise ValueError(f"degrees of {n} people must lie above 0 and below {n - 1}")
    distinct, place, counts = np.unique(degrees, return_inverse=True, return_counts=True)
    s = np.ones(len(distinct))
    change, taken = np.inf, 0
    while n and taken < steps and change > TOLERANCE:
        others = (counts * s / (1 + np.outer(s, s))).sum(axis=1) - s / (1 + s * s)
        new = distinct / others
        change = float(np.abs(np.log(new / s)).max())
        s, taken = new, taken + 1
    return BetaModel(s[place.ravel()] if n else np.zeros(0), taken, change <= TOLERANCE or not n)


@dataclass(frozen=True, eq=False)
class BlockModel:
    """Expected edges between groups, and each person's share of them.

    Args:
        groups: int64 (n,), each person's group.
        weights: float64 (n, k), 0 or more: d_ib, each person's weight towards each group.
        edges: float64 (k, k), symmetric, 0 or more: M_ab.
    """

    groups: IntArray = field(repr=False)
    weights: FloatArray = field(repr=False)
    edges: FloatArray = field(repr=False)

    @classmethod
    def from_degrees(cls, degrees: NDArray, groups: IntArray) -> BlockModel:
        """Fit the model to noisy numbers of neighbours by group, (n, k).

        M_ab is the mean of both groups' reports about it, from the unclipped numbers: clipping
        negative numbers at 0 first would add n k times the mean of clipped noise. Weights cannot
        be negative and are clipped at 0.
        """
        count = degrees.shape[1]
        towards = np.zeros((count, count))
        np.add.at(towards, groups, degrees.astype(np.float64))
        total = np.clip((towards + towards.T) / 2, 0, None)
        total[np.diag_indices(count)] /= 2  # inside a group both ends report
        return cls(groups, np.clip(degrees, 0, None).astype(np.float64), total)

    def sample(self, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Return the pairs (left < right) of a random graph of the model, sorted."""
        n = len(self.groups)
        drawn = [np.zeros(0, np.int64), *self._blocks(rng)]
        pairs = np.unique(np.concatenate(drawn))
        return pairs // n, pairs % n

    def _blocks(self, rng: np.random.Generator) -> Iterator[IntArray]:
        n, count = self.weights.shape
        members = [np.flatnonzero(self.groups == group) for group in range(count)]
        sums = np.zeros((count, count))  # D_ab
        np.add.at(sums, self.groups, self.weights)
        for a in range(count):
            for b in range(a, count):
                if sums[a, b] <= 0 or sums[b, a] <= 0:
                    continue
                number = rng.poisson(self.edges[a, b])
                left, right = (
                    rng.choice(members[own], number, p=self.weights[members[own], other] / sums[own, other])
                    for own, other in ((a, b), (b, a))
                )
                low, high = np.minimum(left, right), np.maximum(left, right)
                yield (low * n + high)[low < high]  # no self-loops


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


def directed_probabilities(degrees: NDArray, old: IntArray, new: IntArray) -> NDArray[np.float64]:
    """float64 (n, k): p_ij of each person i with any other member of each new group.

    Args:
        degrees: (n, k), reported towards the old groups.
        old: int64 (n,), below k.
        new: int64 (n,), below k.
    """
    n, count = degrees.shape
    shared = np.zeros((count, count))
    np.add.at(shared, (old, new), 1)
    moved = shared / np.maximum(1, shared.sum(axis=1, keepdims=True))
    towards = np.clip(np.round(degrees), 0, n - 1) @ moved
    within = np.zeros((count, count))
    np.add.at(within, new, towards)
    total, size = towards.sum(axis=0), np.maximum(1, shared.sum(axis=0))
    share = np.divide(total / size, total + within, out=np.zeros_like(within), where=total > 0)
    return np.minimum(1, towards * share[new])


def draw_links(probabilities: NDArray[np.float64], groups: IntArray, rng: np.random.Generator) -> IntArray:
    """int64 (2, E), sources over targets: one independent coin for each ordered pair, no self-loops.

    Args:
        probabilities: float64 (n, k), towards each group.
        groups: int64 (n,), below k.
        rng: Draws the number of links of each person to each group, then their targets.
    """
    sources, targets = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for group in range(probabilities.shape[1]):
        members = np.flatnonzero(groups == group)
        for i, number in enumerate(rng.binomial(len(members), probabilities[:, group])):
            if number:
                chosen = members[rng.choice(len(members), number, replace=False)]
                chosen = chosen[chosen != i]
                sources.append(np.full(len(chosen), i))
                targets.append(chosen)
    return np.stack([np.concatenate(sources), np.concatenate(targets)])
