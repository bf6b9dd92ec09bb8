"""Belief propagation of classes over the pairs S, with the field of all pairs outside S.

The model: pair ij is an edge with probability o_ij Om_{c_i c_j}, and its reports multiply the odds by Lambda + 1 =
e^strength. Let L_i(c) be the log-evidence of person i's class from everything but the own label and the links, and
own_i(c) that of the own label's report. A message over a pair of S, as a factor on the class of i, is

    M_{j->i}(c) = 1 + min(o_ij (Om nu_{j->i})_c, .9) Lambda_ij,
    nu_{j->i}(c) ~ exp(L_j + field_j + own_j)_c  prod over the other pairs jk of M_{k->j}(c).

The sum of all evidence but the own label is

    total_i = L_i + field_i + sum_j ln M_{j->i}.

An own label that is certain fixes nu: such people are sources and never listen. The fixed point is found by
iteration with damping. On a tree, without the cap .9, it is the exact posterior.

The pairs outside S weigh on everybody together: person i has about D_i partners with an edge in the model, and with
the mean class distribution qbar of an edge's end, which is that of the present beliefs,

    field_i(c) = -(1 - 2 p) D_i (Om qbar)_c,   qbar = sum_j D_j q_j / sum_j D_j.

Affinity of classes: how much more often two classes share an edge than two random people do.

A pair of classes c, c' has N edges among pairs that a graph without classes would give M edges. The rate
Om_cc' = N / M is a small count over its expectation. It is shrunk, like the rates of a Poisson law under a gamma
prior, to the mean of its own kind, the diagonal or the rest:

    Om_cc' = (N + k g) / (M + k),   g = sum N / sum M of the kind,

where k follows from the spread of the rates beyond the noise. Then Om is divided by pi' Om pi, pi the classes of
an edge's end without regard to classes. Otherwise its scale and that of the edge probabilities could drift apart.

N and M come from the labelled people alone, by the unbiased count of :mod:`ldpsim.curator.links.edge_prior`,

    N_cc' = (number of labelled pairs in S - their false hits) / (1 - 2 p),

or from the beliefs of everybody (the M step of an EM algorithm): N counts the pairs of S by the posterior of an edge
and of both classes, over hit_r, and M the activities of expected classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ldpsim.curator.links.edge_prior import LinkEvidence
from ldpsim.devices.array_types import FloatArray, IntArray

CAP = 0.9
_KEPT = 0.5  # share of the old message in a step
_STEPS = 30
_TOLERANCE = 1e-3
_ROWS_AT_ONCE = 1 << 18
_LEAST = 1e-30  # of a probability

Float32 = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of S for belief propagation.

    Args:
        n: Number of people.
        left, right: int64 (m,), left < right.
        base: (m,), o of each pair.
        strength: (m,), log-likelihood ratio of the reports about each pair.
    """

    n: int
    left: IntArray = field(repr=False)
    right: IntArray = field(repr=False)
    base: FloatArray = field(repr=False)
    strength: FloatArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Result of belief propagation.

    Args:
        total: float64 (n, classes): total_i, up to a constant a row; without the own label.
        left_cavity, right_cavity: float32 (m, classes): nu of the left end towards the right one, and the reverse,
            both without own labels.
        steps: Number of steps.
        change: Largest mean change of a belief in the last step.
    """

    total: NDArray[np.float64] = field(repr=False)
    left_cavity: Float32 = field(repr=False)
    right_cavity: Float32 = field(repr=False)
    steps: int
    change: float


def propagate_beliefs(
    pairs: Pairs, evidence: FloatArray, own: FloatArray, affinity: FloatArray, absent: FloatArray,
    *, cap: float = CAP, steps: int = _STEPS, tolerance: float = _TOLERANCE,
) -> Beliefs:  # fmt: skip
    """Iterate the messages to a fixed point.

    Args:
        pairs: The pairs of S.
        evidence: float64 (n, classes): L_i.
        own: float64 (n, classes): own_i; -inf for a class that the own label excludes, 0 for no label.
        affinity: float64 (classes, classes): Om, symmetric.
        absent: float64 (n,): (1 - 2 p) D_i; zeros leave the field out.
        cap: Largest probability of an edge in a message.
        steps: Largest number of steps.
        tolerance: The iteration ends once the mean change of all beliefs is at most this.
    """
    sources = np.isneginf(own).sum(axis=1) == own.shape[1] - 1
    links = _Directed.of(pairs)
    fixed = np.exp(own - own.max(axis=1, keepdims=True)).astype(np.float32)
    om = affinity.astype(np.float32)
    from_source, to_source = sources[links.source], sources[links.target]
    messages = np.ones((len(links.source), om.shape[0]), np.float32)
    for part in _blocks(np.flatnonzero(from_source)):
        messages[part] = links.message(part, fixed[links.source[part]] @ om, cap)
    source_sums = links.sums(np.log(messages))  # what the sources say, once for all
    live = np.flatnonzero(~from_source & ~to_source)
    inner, place = links.among(live)
    moving = messages[live]
    beliefs, taken, change = _softmax(evidence + source_sums + own), 0, np.inf
    mean, field_of = None, np.zeros_like(source_sums)
    while taken < steps and change > tolerance:
        linear = np.maximum(beliefs, _LEAST).astype(np.float32)
        for part in _blocks(np.arange(len(live))):
            cavity = linear[inner.source[part]] / moving[place[part]]
            new = inner.message(part, _through(cavity, om), cap)
            moving[part] = _KEPT * moving[part] + (1 - _KEPT) * new if taken else new
        spread = _mean(beliefs, absent)
        mean = spread if mean is None else _KEPT * mean + (1 - _KEPT) * spread
        field_of = -np.outer(absent, affinity @ mean)
        now = _softmax(evidence + source_sums + inner.sums(np.log(moving)) + field_of + own)
        change = float(np.abs(now - beliefs)[~sources].sum(axis=1).mean()) if not sources.all() else 0.0
        beliefs, taken = now, taken + 1
    messages[live] = moving
    linear = np.maximum(beliefs, _LEAST).astype(np.float32)
    for part in _blocks(np.flatnonzero(~from_source & to_source)):
        cavity = linear[links.source[part]] / messages[links.reverse[part]]
        messages[part] = links.message(part, _through(cavity, om), cap)
    total = evidence + field_of + links.sums(np.log(messages))
    return Beliefs(total, *_cavities(links, messages, total), taken, change)


def _mean(beliefs: FloatArray, weights: FloatArray) -> NDArray[np.float64]:
    total = weights.sum()
    return np.asarray(weights @ beliefs / total if total > 0 else beliefs.mean(axis=0), np.float64)


def _through(cavity: Float32, affinity: Float32) -> Float32:
    """float32 (k, classes): Om nu of the cavities' distributions, which need not be normalised."""
    cavity /= cavity.sum(axis=1, keepdims=True)
    return np.asarray(cavity @ affinity, np.float32)


def _cavities(links: _Directed, messages: Float32, total: FloatArray) -> tuple[Float32, Float32]:
    linear = np.maximum(_softmax(total), _LEAST).astype(np.float32)
    count = len(links.source) // 2
    both = []
    for way in (0, 1):
        entries = links.entry[way * count : (way + 1) * count]  # the message from left to right, or from right to left
        cavity = linear[links.source[entries]] / messages[links.reverse[entries]]
        both.append(cavity / cavity.sum(axis=1, keepdims=True))
    return both[0], both[1]


@dataclass(frozen=True, eq=False)
class _Directed:
    """Both directions of each pair, sorted by target."""

    n: int
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    reverse: NDArray[np.int32]  # place of the opposite direction
    entry: NDArray[np.int32]  # place of left -> right of each pair, then of right -> left
    base: Float32
    ratio: Float32  # Lambda

    @classmethod
    def of(cls, pairs: Pairs) -> _Directed:
        count = len(pairs.left)
        target = np.concatenate([pairs.right, pairs.left]).astype(np.int32)
        order = np.argsort(target, kind="stable").astype(np.int32)
        entry = np.empty(2 * count, np.int32)
        entry[order] = np.arange(2 * count, dtype=np.int32)
        source = np.concatenate([pairs.left, pairs.right]).astype(np.int32)
        pair = order % max(1, count)
        reverse = entry[(order + count) % max(1, 2 * count)]
        base, ratio = pairs.base.astype(np.float32), np.expm1(pairs.strength).astype(np.float32)
        return cls(pairs.n, source[order], target[order], reverse, entry, base[pair], ratio[pair])

    def among(self, live: IntArray) -> tuple[_Directed, NDArray[np.int32]]:
        """Return the directions ``live``, which hold every one's opposite, and the place of each one's opposite."""
        place = np.empty(len(self.source), np.int32)
        place[live] = np.arange(len(live), dtype=np.int32)
        reverse = place[self.reverse[live]]
        part = _Directed(self.n, self.source[live], self.target[live], reverse, self.entry[:0],
                         self.base[live], self.ratio[live])  # fmt: skip
        return part, reverse

    def message(self, places: IntArray, through: Float32, cap: float) -> Float32:
        """float32 (k, classes): M of these directions from Om nu of their sources."""
        through *= self.base[places, None]
        np.minimum(through, np.float32(cap), out=through)
        through *= self.ratio[places, None]
        through += 1
        return through

    def sums(self, values: Float32) -> NDArray[np.float64]:
        """float64 (n, classes): sum over the directions towards each person."""
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.target, minlength=self.n))])
        rows = csr_array((np.ones(len(values), np.float32), np.arange(len(values)), starts),
                         shape=(self.n, len(values)))  # fmt: skip
        return np.asarray(rows @ values, np.float64)


def _softmax(scores: FloatArray) -> NDArray[np.float64]:
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True), np.float64)


def _blocks(places: IntArray) -> Iterator[IntArray]:
    for start in range(0, len(places), _ROWS_AT_ONCE):
        yield places[start : start + _ROWS_AT_ONCE]


LEAST = 0.02  # of a rate: no pair of classes is impossible
_PAIRS_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Edges between classes, each pair of people counted once in both orders.

    Args:
        edges: float64 (classes, classes), symmetric: N, unbiased, may be negative.
        noise: float64 (classes, classes): variance of N that does not come from the edges themselves.
        expected: float64 (classes, classes), symmetric: M.
    """

    edges: FloatArray = field(repr=False)
    noise: FloatArray = field(repr=False)
    expected: FloatArray = field(repr=False)


def labelled_counts(
    evidence: LinkEvidence, classes_of: FloatArray, activity: FloatArray, density: float
) -> ClassCounts:
    """Count edges between labelled people.

    Args:
        evidence: The reports.
        classes_of: float64 (n, classes): one-hot labels, weights that are unbiased for them, or zeros for nobody.
        activity: float64 (n,): theta, of mean 1.
        density: Share of edges among all pairs.
    """
    edges, noise = labelled_edges(evidence, classes_of)
    weighted = activity[:, None] * classes_of
    seen = evidence.partners[:, 1:].sum() / max(1, evidence.n * (evidence.n - 1))
    expected = seen * density * (np.outer(weighted.sum(axis=0), weighted.sum(axis=0)) - weighted.T @ weighted)
    return ClassCounts(edges, noise, expected)


def labelled_edges(evidence: LinkEvidence, classes_of: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return N and the variance of N that does not come from the edges; arguments as :func:`labelled_counts`."""
    resolution, false_hit = evidence.resolution, evidence.false_hit
    hits = _both(evidence.ends_by(classes_of))
    reporters = evidence.reported[:, None] * classes_of
    silent = classes_of - reporters
    pairs = np.zeros((3, *hits.shape))  # by number of reports, people paired with themselves left out below
    if evidence.one_end:
        # a pair has the report of its right end: what lies before person i, summed over the i that reported
        before = np.cumsum(classes_of, axis=0) - classes_of
        pairs[1] = _both(reporters.T @ before)
    else:
        pairs[2] = np.outer(reporters.sum(axis=0), reporters.sum(axis=0)) - reporters.T @ reporters
        pairs[1] = _both(np.outer(reporters.sum(axis=0), silent.sum(axis=0)))
    chance = np.tensordot(false_hit, pairs, axes=1)
    noise = np.tensordot(false_hit * (1 - false_hit), pairs, axes=1) / resolution**2
    return (hits - chance) / resolution, np.abs(noise)


def believed_counts(
    evidence: LinkEvidence, pairs: Pairs, beliefs: Beliefs, own: FloatArray, affinity: FloatArray,
    activity: FloatArray, density: float,
) -> ClassCounts:  # fmt: skip
    """Count edges by the beliefs of everybody.

    Args:
        evidence: The reports.
        pairs: Their pairs S with the base probability of each.
        beliefs: What belief propagation found.
        own: float64 (n, classes): evidence of the own labels.
        affinity: The present Om.
        activity: float64 (n,): theta, of mean 1.
        density: Share of edges among all pairs.
    """
    weight = edge_probability(pairs, beliefs, own, affinity)
    hit = evidence.hit[evidence.reports(pairs.left, pairs.right)]
    counts = np.zeros_like(affinity)
    for part in _pair_blocks(len(pairs.left)):
        left, right = _with_own(beliefs, own, pairs, part)
        agree = np.maximum(np.einsum("ij,ij->i", left @ affinity, right), 1e-12)
        counts += left.T @ (right * (weight[part] / hit[part] / agree)[:, None])
    edges = _both(counts * affinity)
    share = beliefs.total + own
    share = np.exp(share - share.max(axis=1, keepdims=True))
    share *= (activity / share.sum(axis=1))[:, None]
    seen = evidence.partners[:, 1:].sum() / max(1, evidence.n * (evidence.n - 1))
    expected = seen * density * (np.outer(share.sum(axis=0), share.sum(axis=0)) - share.T @ share)
    return ClassCounts(edges, np.zeros_like(edges), np.maximum(expected, 1e-9))


def edge_probability(pairs: Pairs, beliefs: Beliefs, own: FloatArray | None, affinity: FloatArray) -> FloatArray:
    """float64 (m,): posterior probability of an edge for each pair of S.

    Args:
        pairs: The pairs.
        beliefs: Their messages.
        own: Evidence of the own labels; None leaves it out, so that labelled people are like all others.
        affinity: Om.
    """
    probability = np.empty(len(pairs.left))
    for part in _pair_blocks(len(pairs.left)):
        left, right = _with_own(beliefs, own, pairs, part)
        prior = np.minimum(pairs.base[part] * np.einsum("ij,ij->i", left @ affinity, right), 1 - 1e-9)
        probability[part] = 1 / (1 + (1 - prior) / np.maximum(prior, 1e-300) * np.exp(-pairs.strength[part]))
    return probability


def shrunk(counts: ClassCounts) -> FloatArray:
    """float64 (classes, classes): rates, shrunk to the mean of the diagonal or of the rest."""
    result = np.ones_like(counts.edges)
    diagonal = np.eye(len(result), dtype=bool)
    for kind in (diagonal, ~diagonal):
        if kind.any():
            result[kind] = _shrunk(counts.edges[kind], counts.noise[kind], counts.expected[kind])
    return np.maximum(result, LEAST)


def normalised(affinity: FloatArray, share: FloatArray) -> FloatArray:
    """Return Om / pi' Om pi for the class shares pi of an edge's end."""
    return np.asarray(affinity / (share @ affinity @ share))


def _shrunk(edges: FloatArray, noise: FloatArray, expected: FloatArray) -> FloatArray:
    exposure = np.maximum(expected, 1e-9)
    mean = max(float(edges.sum() / exposure.sum()), LEAST)
    variance = (noise + mean * exposure) / exposure**2  # of each rate under the common mean
    rates = edges / exposure
    weights = 1 / variance
    # method of moments: what the rates differ beyond their noise
    excess = float((weights * (np.square(rates - mean) - variance)).sum() / weights.sum())
    spread = max(excess, (0.1 * mean) ** 2)
    return mean + spread / (spread + variance) * (rates - mean)


def _with_own(
    beliefs: Beliefs, own: FloatArray | None, pairs: Pairs, part: slice
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    ends = []
    for cavity, people in ((beliefs.left_cavity, pairs.left), (beliefs.right_cavity, pairs.right)):
        share = cavity[part].astype(np.float64)
        if own is not None:
            share = np.maximum(share, 1e-30) * np.exp(own[people[part]])
            share /= share.sum(axis=1, keepdims=True)
        ends.append(share)
    return ends[0], ends[1]


def _both(counts: FloatArray) -> FloatArray:
    return np.asarray(counts + counts.T)


def _pair_blocks(count: int) -> Iterator[slice]:
    for start in range(0, count, _PAIRS_AT_ONCE):
        yield slice(start, start + _PAIRS_AT_ONCE)
