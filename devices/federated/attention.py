"""Local steps of the members of a silo that train a graph attention network, of one head a layer.

Velickovic et al. 2018 (https://arxiv.org/abs/1710.10903), equations 1 to 4. With x_i the features of member i, N(i) its
neighbours in the silo and i itself, and two layers (the second has relu(h_i) in place of x_i, and no relu after it):

    v_i = W x_i,   e_ij = leakyrelu(t . v_i + s . v_j),   a_ij = exp(e_ij) / sum_k exp(e_ik)  (j, k in N(i)),
    h_i = sum_j a_ij v_j + b.

The gradient is written out, as in :mod:`ldpsim.devices.federated.local_steps`: a device needs no torch. With g_i the
gradient for h_i, f_ij = leakyrelu's slope at e_ij, and sums over the pairs with j in N(i),

    da_ij = g_i . v_j,   de_ij = f_ij a_ij (da_ij - sum_k a_ik da_ik),
    dv_j = sum_i a_ij g_i + s sum_i de_ij + t sum_k de_jk,   ds = sum_ij de_ij v_j,   dt = sum_ij de_ij v_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.federated.local_steps import SparseRows
from ldpsim.devices.federated.updates import Updates
from ldpsim.devices.network import Shape, diverging, softmax
from ldpsim.devices.training_task import ATTENTION_SLOPE, Task


@dataclass(frozen=True, eq=False)
class AttendedPairs:
    """Pairs (i, j) with j in N(i), by i and then j; everybody is in their own N(i).

    Args:
        starts: int (n + 1,): the first pair of each i.
        targets, sources: int (pairs,): i and j.
    """

    starts: NDArray[np.int64]
    targets: NDArray[np.int64]
    sources: NDArray[np.int64]

    @classmethod
    def of(cls, looped: Any) -> AttendedPairs:
        """Return the entries of a CSR matrix (n, n) whose diagonal has no 0."""
        starts = looped.indptr.astype(np.int64)
        return cls(starts, np.repeat(np.arange(len(starts) - 1), np.diff(starts)), looped.indices.astype(np.int64))

    def matrix(self, values: FloatArray) -> Any:
        """Return a CSR matrix (n, n) with a value for each pair."""
        return SparseRows(self.starts, self.sources, values).matrix(len(self.starts) - 1)

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum over j for every i, (n,)."""
        result: FloatArray = np.add.reduceat(values, self.starts[:-1])
        return result


@dataclass(frozen=True, eq=False)
class Attention:
    """Values of one layer that the gradient of :func:`attended_sums` needs.

    Args:
        pairs: Who attends to whom.
        values: v, (n, k).
        vectors: s and t, (2, k).
        shares: a_ij by pair, (pairs,).
        slopes: f_ij by pair, (pairs,).
    """

    pairs: AttendedPairs
    values: FloatArray
    vectors: FloatArray
    shares: FloatArray
    slopes: FloatArray

    def gradients(self, outer: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradients for v, (n, k), and for the vectors s and t, (2, k), given the one for h, (n, k)."""
        pairs, (by_source, by_target) = self.pairs, self.vectors
        inner = np.einsum("pk,pk->p", outer[pairs.targets], self.values[pairs.sources])
        mean = pairs.sums(self.shares * inner)
        scores = self.slopes * self.shares * (inner - mean[pairs.targets])
        to_target = pairs.sums(scores)
        to_source = np.bincount(pairs.sources, scores, len(self.values)).astype(outer.dtype)
        values = pairs.matrix(self.shares).T @ outer
        values += np.outer(to_source, by_source) + np.outer(to_target, by_target)
        return values, np.stack([to_source @ self.values, to_target @ self.values])


def attended_sums(values: FloatArray, vectors: FloatArray, pairs: AttendedPairs) -> tuple[FloatArray, Attention]:
    """Return sum_j a_ij v_j of every i, (n, k), and what its gradient needs.

    Args:
        values: v, (n, k).
        vectors: s and t, (2, k).
        pairs: Who attends to whom.
    """
    by_source, by_target = values @ vectors[0], values @ vectors[1]
    scores = by_target[pairs.targets] + by_source[pairs.sources]
    slopes = np.where(scores > 0, 1, ATTENTION_SLOPE).astype(values.dtype)
    scores *= slopes
    powers = np.exp(scores - np.maximum.reduceat(scores, pairs.starts[:-1])[pairs.targets])
    shares = powers / pairs.sums(powers)[pairs.targets]
    taken: FloatArray = pairs.matrix(shares) @ values
    return taken, Attention(pairs, values, vectors, shares, slopes)


def attention_scores(flat: FloatArray, shape: Shape, features: Any, pairs: AttendedPairs) -> FloatArray:
    """Return everybody's scores, (n, classes).

    Args:
        flat: The weights, (size,).
        shape: The network's sizes.
        features: CSR (n, d).
        pairs: Who attends to whom.
    """
    w1, b1, w2, b2 = shape.parts(flat)
    first, second = shape.attention(flat)
    hidden = np.maximum(attended_sums(features @ np.ascontiguousarray(w1), first, pairs)[0] + b1, 0)
    return attended_sums(hidden @ w2, second, pairs)[0] + b2


class AttentionSilo:
    """The members of one silo, who all attend and are attended to.

    Args:
        task: The sizes and steps.
        features: The members' features, CSR (m, d).
        pairs: Who attends to whom: the ends of each edge between members, in both directions, and each member.
        chosen: int (k,): the members whose scores count.
        labels: int (k,): their labels.
    """

    variates = None  # SCAFFOLD's: silos have none

    def __init__(
        self, task: Task, features: Any, pairs: AttendedPairs, chosen: NDArray[np.int64], labels: NDArray[np.int64]
    ) -> None:
        self.task, self.features, self.pairs, self.chosen = task, features, pairs, chosen
        self.labels = labels[None]

    def scores(self, flat: FloatArray) -> FloatArray:
        """Return the scores of the chosen members, (1, k, classes)."""
        return attention_scores(flat, self.task.shape, self.features, self.pairs)[None, self.chosen]

    @diverging()
    def trained(
        self, flat: FloatArray, *, mu: float = 0.0, steps: int | None = None, control: FloatArray | None = None,
        seed: Sequence[int] = (),
    ) -> Updates:  # fmt: skip
        """Return the weights after the local steps; the arguments are those of ``Stack.trained``, ``control`` None."""
        task, weights = self.task, flat.copy()
        rng = np.random.Generator(np.random.PCG64(list(seed)))
        for _ in range(task.steps if steps is None else steps):
            gradient = self._gradient(weights, rng) + task.weight_decay * weights + mu * (weights - flat)
            weights -= task.lr * gradient
        return Updates.whole(weights[None])

    def _gradient(self, flat: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return the gradient of the mean cross-entropy of the chosen members, (size,)."""
        task, shape = self.task, self.task.shape
        w1, b1, w2, b2 = shape.parts(flat)
        vectors1, vectors2 = shape.attention(flat)
        before, first = attended_sums(self.features @ np.ascontiguousarray(w1), vectors1, self.pairs)
        before = before + b1
        hidden, slope = np.maximum(before, 0), (before > 0).astype(flat.dtype)
        if task.dropout:
            mask = ((rng.random(hidden.shape) < 1 - task.dropout) / (1 - task.dropout)).astype(flat.dtype)
            hidden, slope = hidden * mask, slope * mask
        after, second = attended_sums(hidden @ w2, vectors2, self.pairs)
        error = softmax(after[self.chosen] + b2)
        error[np.arange(len(self.chosen)), self.labels[0]] -= 1
        outer = np.zeros_like(after)
        outer[self.chosen] = error / len(self.chosen)
        gradient = np.empty_like(flat)
        parts, of_vectors = shape.parts(gradient), shape.attention(gradient)
        inner, of_vectors[1][...] = second.gradients(outer)
        parts[3][...], parts[2][...] = outer.sum(axis=0), hidden.T @ inner
        outer = (inner @ w2.T) * slope
        inner, of_vectors[0][...] = first.gradients(outer)
        parts[1][...], parts[0][...] = outer.sum(axis=0), self.features.T @ inner
        return gradient
