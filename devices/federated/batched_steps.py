"""Local steps of one or many devices as one batched computation, equal to those one by one to the last bit.

No sum runs over the rows of several devices: rounding that depends on who else is in the
batch would tell two answers of one device apart.

Plain gradient steps change W1 by G^T U, with G the device's few input rows and U as many
rows of hidden width. So W1 is never copied: a step works on U alone, through the products
of a device's rows with one another, and W1's change is put together once at the end
(:mod:`ldpsim.devices.federated.local_steps` has the formulas). The devices' W2 and biases are small and
stacked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.federated.local_steps import Inputs
from ldpsim.devices.network import diverging, softmax
from ldpsim.devices.training_task import Task


class Stack:
    """Inputs of one or many devices, stacked.

    Args:
        inputs: One a device, at least one.
        task: The sizes.
    """

    def __init__(self, inputs: Sequence[Inputs], task: Task) -> None:
        from scipy.sparse import csr_array

        self.task = task
        lengths = np.concatenate([np.diff(one.indptr) for one in inputs])
        self.indptr = np.concatenate([[0], np.cumsum(lengths)])
        self.columns = np.concatenate([one.columns for one in inputs])
        self.values = np.concatenate([one.values for one in inputs])
        self.weights = np.concatenate([one.weights for one in inputs])
        rows = np.array([len(one.weights) for one in inputs])
        self.owner = np.repeat(np.arange(len(inputs)), rows)
        self.first = np.stack([one.first for one in inputs])
        self.second = np.stack([one.second for one in inputs])
        self.labels = np.array([one.label for one in inputs])
        self.variates = [one.variate for one in inputs]
        self.single = bool(np.all(rows == 1))
        size = (len(self.weights), task.d)
        self.matrix = csr_array((self.values, self.columns, self.indptr), shape=size)
        squares = csr_array(((self.values * self.values).astype(np.float64), self.columns, self.indptr), shape=size)
        self.gram: Any = (squares @ np.ones(task.d)).astype(self.values.dtype)[:, None]
        if not self.single:
            self.gram = _blocks(self.matrix, self.gram, np.concatenate([[0], np.cumsum(rows)]))
        places = (self.owner, np.arange(len(self.owner)))
        self.sum = csr_array((self.weights, places), shape=(len(inputs), len(self.owner)))
        self.plain_sum = csr_array((np.ones_like(self.weights), places), shape=(len(inputs), len(self.owner)))

    def __len__(self) -> int:
        return len(self.labels)

    def hidden(self, flat: FloatArray) -> FloatArray:
        """Return all rows' hidden units before the activation, less b1."""
        w1 = self.task.shape.parts(flat)[0]
        result: FloatArray = self.matrix @ np.ascontiguousarray(w1) + self.first[self.owner]
        return result

    def scores(self, flat: FloatArray) -> FloatArray:
        """Return the scores of all devices under the global weights, (devices, classes)."""
        _, b1, w2, b2 = self.task.shape.parts(flat)
        summed = self.sum @ np.maximum(self.hidden(flat) + b1, 0) + self.second
        result: FloatArray = np.matmul(summed[:, None, :], w2)[:, 0] + b2  # row by row, as in the steps
        return result

    def train(self, flat: FloatArray, *, mu: float = 0.0) -> FloatArray:
        """Return every device's weights after its local steps, (devices, size)."""
        return np.stack([weights.copy() for weights in self.trained(flat, mu=mu)])

    def trained(self, flat: FloatArray, *, mu: float = 0.0, control: FloatArray | None = None) -> Iterator[FloatArray]:
        """Yield each device's weights after its local steps, (size,), in a buffer that the next ones reuse.

        Args:
            flat: The global weights, (size,).
            mu: Weight of FedProx's term.
            control: The server's control variate, (size,); None: steps are plain. All devices then have one of their
                own, and one row of inputs.
        """
        task, owner, n = self.task, self.owner, len(self)
        b1, w2, b2, change = self._stepped(flat, mu, control)
        base = flat
        if control is not None:
            base = flat.copy()
            task.shape.parts(base)[0][...] -= task.steps * task.lr * task.shape.parts(control)[0]
        buffer = flat.copy()
        parts = task.shape.parts(buffer)
        first = self.indptr[np.searchsorted(owner, np.arange(n + 1))]
        # One copy of the weights at a time stays in the cache; all of them would be written to memory twice.
        for device in range(n):
            buffer[:] = base
            for target, result in zip(parts[1:], (b1[device], w2[device], b2[device]), strict=True):
                target[...] = result
            moves = slice(first[device], first[device + 1])
            if self.single:  # no column stands twice
                parts[0][self.columns[moves]] += change[moves]
            else:
                with diverging():
                    np.add.at(parts[0], self.columns[moves], change[moves])
            yield buffer

    @diverging()
    def _stepped(
        self, flat: FloatArray, mu: float, control: FloatArray | None
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return b1, W2 and b2 of every device after its steps, and the change of W1 by entry of the inputs."""
        task, owner, n = self.task, self.owner, len(self)
        start = self.hidden(flat)
        _, b1_global, w2_global, b2_global = task.shape.parts(flat)
        b1, w2, b2 = (np.repeat(part[None], n, axis=0) for part in (b1_global, w2_global, b2_global))
        moved = np.zeros_like(start)
        everyone = np.arange(n)
        drift, shift = self._controlled(control)
        for number in range(task.steps):
            # W1's part of c moves the weights of all devices alike.
            z = start if drift is None else start - number * task.lr * drift
            z = z + (self.gram * moved if self.single else self.gram @ moved) + b1[owner]
            p = self.sum @ np.maximum(z, 0) + self.second
            error = softmax(np.matmul(p[:, None, :], w2)[:, 0] + b2)
            error[everyone, self.labels] -= 1
            back = self.weights[:, None] * np.matmul(w2, error[:, :, None])[:, :, 0][owner] * (z > 0)
            steps = [p[:, :, None] * error[:, None, :], error, self.plain_sum @ back, back]
            if mu:
                pulls = (w2 - w2_global, b2 - b2_global, b1 - b1_global, moved)
                steps = [step + mu * pull for step, pull in zip(steps, pulls, strict=True)]
            if shift is not None:
                steps = [step + more for step, more in zip(steps, shift, strict=True)]
            for weights, step in zip((w2, b2, b1, moved), steps, strict=True):
                weights -= task.lr * step
        row = np.repeat(np.arange(len(owner)), np.diff(self.indptr))
        return b1, w2, b2, self.values[:, None] * moved[row]

    def _controlled(self, control: FloatArray | None) -> tuple[FloatArray | None, list[FloatArray] | None]:
        """Return what c does to every row's products in a step, and c - c_i for W2, b2, b1 and the rows' own part."""
        if control is None:
            return None, None
        task = self.task
        c1, b1, w2, b2 = task.shape.parts(control)
        own: FloatArray = np.stack([one for one in self.variates if one is not None])
        h = task.hidden
        own_b1, own_w2, own_b2 = own[:, :h], own[:, h : -task.classes], own[:, -task.classes :]
        drift: FloatArray = self.matrix @ np.ascontiguousarray(c1)
        return drift, [w2 - own_w2.reshape(-1, h, task.classes), b2 - own_b2, b1 - own_b1, -own_b1]


def _blocks(matrix: Any, squares: FloatArray, ends: NDArray[np.int64]) -> Any:
    """Products of the rows of each device with one another: sparse, block-diagonal.

    A device with one row has its square, as where all devices have one row.
    """
    from scipy.sparse import csr_array

    parts = []
    for a, b in zip(ends[:-1], ends[1:], strict=True):
        block = matrix[a:b]
        parts.append((block @ block.T).toarray() if b - a > 1 else squares[a:b])
    sizes = np.diff(ends)
    columns = np.concatenate([np.tile(np.arange(a, b), b - a) for a, b in zip(ends[:-1], ends[1:], strict=True)])
    indptr = np.concatenate([[0], np.cumsum(np.repeat(sizes, sizes))])
    total = int(ends[-1])
    return csr_array((np.concatenate([part.ravel() for part in parts]), columns, indptr), shape=(total, total))
