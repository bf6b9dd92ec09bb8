"""Belief propagation of classes over the pairs S, with the field of all pairs outside S.

The model: pair ij is an edge with probability o_ij Om_{c_i c_j}, and its reports multiply the odds by Lambda + 1 =
e^strength. Let L_i(c) be the log-probability of person i's class from everything but i's label and the links, and
l_i(c) the log-likelihood of i's label or report of it. A message over a pair of S, as a factor on the class of i, is

    M_{j->i}(c) = 1 + min(o_ij (Om nu_{j->i})_c, .9) Lambda_ij,
    nu_{j->i}(c) ~ exp(L_j + field_j + l_j)_c  prod over the other pairs jk of M_{k->j}(c).

The log-probability, up to a constant, from everything but i's label is

    total_i = L_i + field_i + sum_j ln M_{j->i}.

A label that is certain fixes nu: such people are sources, whose messages do not change. The fixed point is found by
iteration with damping. On a tree, without the cap .9, it is the exact posterior.

The pairs outside S have one factor together: person i has about D_i partners with an edge in the model, and with the
mean class distribution qbar of an edge's end, which is that of the present beliefs,

    field_i(c) = -(1 - 2 p) D_i (Om qbar)_c,   qbar = sum_j D_j q_j / sum_j D_j.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import softmax

from ldpsim.devices.array_types import FloatArray, IntArray

CAP = 0.9
_DAMPING = 0.5  # share of the old message in a step
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
        total: float64 (n, classes): total_i, up to a constant a row; without the person's label.
        left_cavity, right_cavity: float32 (m, classes): nu of the left end towards the right one, and the reverse,
            both without the labels of their people.
        steps: Number of steps.
        change: Largest mean change of a belief in the last step.
    """

    total: NDArray[np.float64] = field(repr=False)
    left_cavity: Float32 = field(repr=False)
    right_cavity: Float32 = field(repr=False)
    steps: int
    change: float


def propagate_beliefs(
    pairs: Pairs, log_probability: FloatArray, label_log_likelihood: FloatArray, affinity: FloatArray,
    absent: FloatArray, *, cap: float = CAP, steps: int = _STEPS, tolerance: float = _TOLERANCE,
) -> Beliefs:  # fmt: skip
    """Iterate the messages to a fixed point.

    Args:
        pairs: The pairs of S.
        log_probability: float64 (n, classes): L_i.
        label_log_likelihood: float64 (n, classes): l_i; -inf for a class that the label excludes, 0 for no label.
        affinity: float64 (classes, classes): Om, symmetric.
        absent: float64 (n,): (1 - 2 p) D_i; zeros leave the field out.
        cap: Largest probability of an edge in a message.
        steps: Largest number of steps.
        tolerance: The iteration ends once the mean change of all beliefs is at most this.
    """
    sources = np.isneginf(label_log_likelihood).sum(axis=1) == label_log_likelihood.shape[1] - 1
    links = _Directed.of(pairs)
    source_classes = np.exp(label_log_likelihood - label_log_likelihood.max(axis=1, keepdims=True)).astype(np.float32)
    om = affinity.astype(np.float32)
    from_source, to_source = sources[links.source], sources[links.target]
    messages = np.ones((len(links.source), om.shape[0]), np.float32)
    for part in _blocks(np.flatnonzero(from_source)):
        messages[part] = links.message(part, source_classes[links.source[part]] @ om, cap)
    source_sums = links.sums(np.log(messages))  # they do not change
    live = np.flatnonzero(~from_source & ~to_source)
    live_links, live_reverse = links.among(live)
    live_messages = messages[live]
    beliefs, step, change = softmax(log_probability + source_sums + label_log_likelihood, axis=1), 0, np.inf
    mean, field_of = None, np.zeros_like(source_sums)
    while step < steps and change > tolerance:
        linear = np.maximum(beliefs, _LEAST).astype(np.float32)
        for part in _blocks(np.arange(len(live))):
            cavity = linear[live_links.source[part]] / live_messages[live_reverse[part]]
            new = live_links.message(part, _through(cavity, om), cap)
            live_messages[part] = _DAMPING * live_messages[part] + (1 - _DAMPING) * new if step else new
        new_mean = _mean(beliefs, absent)
        mean = new_mean if mean is None else _DAMPING * mean + (1 - _DAMPING) * new_mean
        field_of = -np.outer(absent, affinity @ mean)
        live_sums = live_links.sums(np.log(live_messages))
        new_beliefs = softmax(log_probability + source_sums + live_sums + field_of + label_log_likelihood, axis=1)
        change = float(np.abs(new_beliefs - beliefs)[~sources].sum(axis=1).mean()) if not sources.all() else 0.0
        beliefs, step = new_beliefs, step + 1
    messages[live] = live_messages
    linear = np.maximum(beliefs, _LEAST).astype(np.float32)
    for part in _blocks(np.flatnonzero(~from_source & to_source)):
        cavity = linear[links.source[part]] / messages[links.reverse[part]]
        messages[part] = links.message(part, _through(cavity, om), cap)
    total = log_probability + field_of + links.sums(np.log(messages))
    return Beliefs(total, *_cavities(links, messages, total), step, change)


def _mean(beliefs: FloatArray, weights: FloatArray) -> NDArray[np.float64]:
    total = weights.sum()
    return np.asarray(weights @ beliefs / total if total > 0 else beliefs.mean(axis=0), np.float64)


def _through(cavity: Float32, affinity: Float32) -> Float32:
    """float32 (k, classes): Om nu of the cavities' distributions, which need not be normalised."""
    cavity /= cavity.sum(axis=1, keepdims=True)
    return np.asarray(cavity @ affinity, np.float32)


def _cavities(links: _Directed, messages: Float32, total: FloatArray) -> tuple[Float32, Float32]:
    linear = np.maximum(softmax(total, axis=1), _LEAST).astype(np.float32)
    count = len(links.source) // 2
    left_to_right, right_to_left = (
        linear[links.source[entries]] / messages[links.reverse[entries]]
        for entries in (links.entry[:count], links.entry[count:])
    )
    return (left_to_right / left_to_right.sum(axis=1, keepdims=True),
            right_to_left / right_to_left.sum(axis=1, keepdims=True))  # fmt: skip


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


def _blocks(places: IntArray) -> Iterator[IntArray]:
    for start in range(0, len(places), _ROWS_AT_ONCE):
        yield places[start : start + _ROWS_AT_ONCE]
