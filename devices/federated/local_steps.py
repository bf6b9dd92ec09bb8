"""Local steps of parties, each the person of one device or the members of a silo.

A party holds input rows g_r (scaled features, or rows of S X), sums what comes out of them for each member with
weights c_ir, and adds what neighbours sent, which stays constant:

    z_r = g_r W1 + k1 + b1,   p_i = sum_r c_ir relu(z_r) + k2,   scores = p_i W2 + b2.

A silo's GraphSAGE has [sum_r c_ir relu(z_r), relu(z_i)] in place of p_i, side by side.

The loss is the mean cross-entropy of the members' labels, plus FedProx's (mu / 2) |w - w0|^2 where mu > 0 (Li et al.
2020). The steps are plain gradient descent; those of silos have weight decay and dropout too. Many devices are computed
at once, and get the bits that each gets alone: no sum runs over the rows of several parties, for rounding that depends
on who else is in the batch would tell two answers of one device apart.

A device's steps change W1 by G^T U, with G its few input rows and U as many rows of hidden width. So W1 is never copied
for a device: a step works on U alone, through the products of its rows with one another, and W1's change is put
together once at the end. A silo has many rows, and moves W1 itself.

With SCAFFOLD (Karimireddy et al. 2020, https://arxiv.org/abs/1910.06378) a round carries the server's control variate
c. A step is then y <- y - lr (g(y) - c_i + c), and after K steps the device's own control variate is (option II)

    c_i+ = c_i - c + (x - y) / (K lr).

The device does not keep it: it sends it with the update, and the server hands it back with the next round. So an
answer depends on the question, the ledger and the record alone. It reveals nothing more: the server knows x, y, c and
c_i. Without noise alone: an update under noise would lie beside an exact one. A device with one row g of inputs has the
gradient g b^T for W1, with b the gradient of b1. So its control variate has no part for W1: it is (b1, W2, b2).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.federated.updates import Updates
from ldpsim.devices.network import diverging, softmax, usable
from ldpsim.devices.training_task import Task


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A matrix in compressed rows, without its width. In a row of inputs a column stands once."""

    starts: NDArray[Any]
    columns: NDArray[Any]
    values: NDArray[Any] = field(repr=False)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def matrix(self, width: int) -> Any:
        """Return the matrix; scipy is no import of a device that never multiplies one."""
        from scipy.sparse import csr_array

        return csr_array((self.values, self.columns, self.starts), shape=(len(self), width))

    @classmethod
    def of(cls, matrix: Any) -> SparseRows:
        """Return the rows of a CSR matrix."""
        return cls(matrix.indptr, matrix.indices, matrix.data)

    @classmethod
    def one(cls, columns: NDArray[Any], values: NDArray[Any]) -> SparseRows:
        """Return a single row."""
        return cls(np.array([0, len(columns)]), columns, values)


@dataclass(eq=False)
class Inputs:
    """Data that one party trains on, or is judged by.

    Args:
        rows: The input rows.
        spread: c, a row a member.
        labels: int (members,), 0 .. classes - 1.
        own: int (members,): the members' own rows, for a GraphSAGE; None for other networks.
        first: float (hidden,): k1; None where neighbours sent nothing.
        second: float (hidden,): k2; None likewise.
    """

    rows: SparseRows
    spread: SparseRows
    labels: NDArray[np.int64]
    first: FloatArray | None = field(default=None, repr=False)
    second: FloatArray | None = field(default=None, repr=False)
    own: NDArray[np.int64] | None = field(default=None, repr=False)


class Stack:
    """Inputs of one or many parties, stacked. Many have one member each. They are the same in all rounds of a training.

    Args:
        task: The sizes and steps.
        rows: The input rows of all parties, one after another.
        ends: int64 (parties + 1,): where each one's rows begin and end.
        spread: c of all members; its columns are the rows of all parties.
        labels: int64 (parties, members).
        received: float (parties, hidden) twice: k1 and k2; None: neighbours sent nothing.
        variates: float (parties, :func:`variate_size`): control variates; None: there are none.
        own: int64 (all members,): their own rows, for a GraphSAGE; None for other networks.
    """

    def __init__(
        self, task: Task, rows: SparseRows, ends: NDArray[np.int64], spread: SparseRows, labels: NDArray[np.int64],
        received: tuple[FloatArray, FloatArray] | None = None, variates: FloatArray | None = None,
        own: NDArray[np.int64] | None = None,
    ) -> None:  # fmt: skip
        self.task, self.labels, self.variates, self.own = task, labels, variates, own
        self.owner = np.repeat(np.arange(len(labels)), np.diff(ends))
        self.matrix, self.spread = rows.matrix(task.shape.width), spread.matrix(len(self.owner))
        ones = np.ones(len(self.owner), self.spread.dtype)
        self.plain_sum = SparseRows(ends, np.arange(len(ones)), ones).matrix(len(ones))
        nothing: FloatArray = np.zeros((len(labels), task.hidden), self.matrix.dtype)
        self.first, self.second = (nothing, nothing) if received is None else received
        self.single = len(self.owner) == len(labels) and bool(np.all(np.diff(ends) == 1))
        if not task.of_silos:
            squares = (self.matrix.data * self.matrix.data).astype(np.float64)
            squares = SparseRows(self.matrix.indptr, self.matrix.indices, squares).matrix(task.d)
            self.gram: Any = (squares @ np.ones(task.d)).astype(self.matrix.dtype)[:, None]
            if not self.single:
                self.gram = _blocks(self.matrix, self.gram, ends)
            # The rows of W1 that each party changes, and the place of each entry of its inputs among them.
            self._row = np.repeat(np.arange(len(self.owner)), np.diff(self.matrix.indptr))
            changed = self.owner[self._row] * np.int64(task.d) + self.matrix.indices
            self._changed, self._place = np.unique(changed, return_inverse=True)

    @classmethod
    def of(cls, inputs: Sequence[Inputs], task: Task) -> Stack:
        """Return the stack of the inputs of parties, at least one."""
        ends = np.concatenate([[0], np.cumsum([len(one.rows) for one in inputs])])
        rows, spread = _stacked([one.rows for one in inputs]), _stacked([one.spread for one in inputs], ends)
        nothing = np.zeros(task.hidden, rows.values.dtype)
        first: FloatArray = np.stack([nothing if one.first is None else one.first for one in inputs])
        second: FloatArray = np.stack([nothing if one.second is None else one.second for one in inputs])
        own = [one.own + start for one, start in zip(inputs, ends[:-1], strict=True) if one.own is not None]
        return cls(task, rows, ends, spread, np.stack([one.labels for one in inputs]), (first, second),
                   own=np.concatenate(own) if own else None)  # fmt: skip

    def with_received(self, received: tuple[FloatArray, FloatArray] | None, variates: FloatArray | None) -> Stack:
        """Return the stack with what the parties were sent in one round; the arguments are those of the class."""
        stack = copy(self)
        stack.first, stack.second = (self.first, self.second) if received is None else received
        stack.variates = variates
        return stack

    def hidden(self, flat: FloatArray) -> FloatArray:
        """Return all rows' hidden units before the activation, less b1."""
        w1 = self.task.shape.parts(flat)[0]
        result: FloatArray = self.matrix @ np.ascontiguousarray(w1) + self.first[self.owner]
        return result

    def scores(self, flat: FloatArray) -> FloatArray:
        """Return the scores of all members under the global weights, (parties, members, classes)."""
        _, b1, w2, b2 = self.task.shape.parts(flat)
        result: FloatArray = np.matmul(self._summed(np.maximum(self.hidden(flat) + b1, 0)), w2) + b2
        return result

    def trained(
        self, flat: FloatArray, *, mu: float = 0.0, steps: int | None = None, control: FloatArray | None = None,
        seed: Sequence[int] = (),
    ) -> Updates:  # fmt: skip
        """Return the parties' weights after their local steps.

        Args:
            flat: The global weights, (size,).
            mu: Weight of FedProx's term.
            steps: Number of steps; None: the task's.
            control: The server's control variate, (size,); None: steps are plain. All parties then have one of their
                own, and one row of inputs.
            seed: Seed of the dropout.
        """
        task, n = self.task, len(self.labels)
        steps = task.steps if steps is None else steps
        *others, moved = self._stepped(flat, mu, steps, control, seed)
        rest = np.concatenate([part.reshape(n, -1) for part in others], axis=1)
        if task.of_silos:
            return Updates.whole(np.concatenate([moved.reshape(n, -1), rest], axis=1))
        base = task.shape.parts(flat)[0].copy()
        if control is not None:
            base -= steps * task.lr * task.shape.parts(control)[0]
        columns = self._changed % task.d
        starts = np.searchsorted(self._changed, np.arange(n + 1) * np.int64(task.d))
        entries = base[columns]
        with diverging():
            changes = self.matrix.data[:, None] * moved[self._row]
            if len(changes) == len(entries):  # no column of a party stands twice
                entries[self._place] += changes
            else:
                np.add.at(entries, self._place, changes)
        return Updates(base, starts, columns, entries, rest)

    def _summed(self, hidden: FloatArray) -> FloatArray:
        """Return p of every member, (parties, members, hidden); of a GraphSAGE also the own hidden units, beside it."""
        p: FloatArray = (self.spread @ hidden).reshape(*self.labels.shape, -1) + self.second[:, None]
        if self.own is None:
            return p
        return np.concatenate([p, hidden[self.own].reshape(p.shape)], axis=2)

    @diverging()
    def _stepped(
        self, flat: FloatArray, mu: float, steps: int, control: FloatArray | None, seed: Sequence[int]
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return b1, W2 and b2 of every party after its steps, and U by row, or W1 of the silo."""
        task, owner, n = self.task, self.owner, len(self.labels)
        w1, *others = task.shape.parts(flat)
        b1, w2, b2 = (np.repeat(part[None], n, axis=0) for part in others)
        start = None if task.of_silos else self.hidden(flat)
        moved = w1.copy() if start is None else np.zeros_like(start)
        origins = [*others, w1 if start is None else 0.0]
        places = np.ogrid[: self.labels.shape[0], : self.labels.shape[1]]
        drift, shift = self._controlled(control)
        rng = np.random.Generator(np.random.PCG64(list(seed)))  # an empty seed is drawn from by nobody
        for number in range(steps):
            if start is None:
                z = self.matrix @ moved
            else:  # W1's part of c moves the weights of all devices alike
                z = start if drift is None else start - number * task.lr * drift
                z = z + (self.gram * moved if self.single else self.gram @ moved)
            z = z + b1[owner]
            hidden, slope = np.maximum(z, 0), z > 0
            if task.dropout:
                mask = ((rng.random(z.shape) < 1 - task.dropout) / (1 - task.dropout)).astype(flat.dtype)
                hidden, slope = hidden * mask, slope * mask
            p = self._summed(hidden)
            error = softmax(np.matmul(p, w2) + b2[:, None])
            error[(*places, self.labels)] -= 1
            error /= self.labels.shape[1]
            back = self._returned(np.matmul(error, w2.transpose(0, 2, 1))) * slope
            gradients = [self.plain_sum @ back, np.matmul(p.transpose(0, 2, 1), error), error.sum(axis=1),
                         self.matrix.T @ back if start is None else back]  # fmt: skip
            present = (b1, w2, b2, moved)
            if mu or task.weight_decay:
                pulls = (task.weight_decay * own + mu * (own - at) for own, at in zip(present, origins, strict=True))
                gradients = [each + pull for each, pull in zip(gradients, pulls, strict=True)]
            if shift is not None:
                gradients = [each + more for each, more in zip(gradients, shift, strict=True)]
            for weights, gradient in zip(present, gradients, strict=True):
                weights -= task.lr * gradient
        return b1, w2, b2, moved

    def _returned(self, back: FloatArray) -> FloatArray:
        """Return the gradient for the hidden units of all rows, given the one for what :meth:`_summed` returns."""
        back = back.reshape(-1, back.shape[-1])
        result: FloatArray = self.spread.T @ back[:, : self.task.hidden]
        if self.own is not None:
            result[self.own] += back[:, self.task.hidden :]
        return result

    def _controlled(self, control: FloatArray | None) -> tuple[FloatArray | None, list[FloatArray] | None]:
        """Return what c does to every row's products in a step, and c - c_i for b1, W2, b2 and the rows' own part."""
        if control is None or self.variates is None:
            return None, None
        c1, b1, w2, b2 = self.task.shape.parts(control)
        own = self.variates
        h, classes = w2.shape
        own_b1, own_w2, own_b2 = own[:, :h], own[:, h:-classes], own[:, -classes:]
        drift: FloatArray = self.matrix @ np.ascontiguousarray(c1)
        return drift, [b1 - own_b1, w2 - own_w2.reshape(-1, h, classes), b2 - own_b2, -own_b1]


def _stacked(parts: Sequence[SparseRows], offsets: NDArray[np.int64] | None = None) -> SparseRows:
    """Return the rows of all, one below the other; the columns of each begin at its offset."""
    starts = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.starts) for part in parts]))])
    columns = np.concatenate([part.columns for part in parts])
    if offsets is not None:
        columns = columns + np.repeat(offsets[:-1], [len(part.columns) for part in parts])
    return SparseRows(starts, columns, np.concatenate([part.values for part in parts]))


def _blocks(matrix: Any, squares: FloatArray, ends: NDArray[np.int64]) -> Any:
    """Products of the rows of each device with one another: sparse, block-diagonal.

    A device with one row has its square, as where all devices have one row.
    """
    parts = []
    for a, b in zip(ends[:-1], ends[1:], strict=True):
        block = matrix[a:b]
        parts.append((block @ block.T).toarray() if b - a > 1 else squares[a:b])
    sizes = np.diff(ends)
    columns = np.concatenate([np.tile(np.arange(a, b), b - a) for a, b in zip(ends[:-1], ends[1:], strict=True)])
    starts = np.concatenate([[0], np.cumsum(np.repeat(sizes, sizes))])
    return SparseRows(starts, columns, np.concatenate([part.ravel() for part in parts])).matrix(int(ends[-1]))


def variate_size(task: Task) -> int:
    """Return the number of entries of a device's control variate."""
    return task.shape.size - task.d * task.hidden


@diverging()
def next_variates(own: FloatArray, control: FloatArray, before: FloatArray, after: Updates, reach: float) -> FloatArray:
    """Return the devices' next control variates, (devices, :func:`variate_size`).

    Args:
        own: The present ones.
        control: The server's, (size,).
        before: The weights before the local steps, (size,).
        after: The weights after them.
        reach: Number of steps times their learning rate, K lr.
    """
    part = slice(-own.shape[1], None)
    moved: FloatArray = (before[part] - after.rest) / reach
    return usable((own - control[part] + moved).astype(before.dtype, copy=False))
