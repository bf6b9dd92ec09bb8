"""The network that devices and silos train: two layers, its weights one flat vector.

    H = relu(X W1 + b1),   Z = C H W2 + b2

X are the inputs that a party holds and C how it sums the hidden units: a perceptron on a
device's own features (X its row, C = 1), or a two-layer GCN (Kipf and Welling 2017) where
X are rows of S X and C is a row of S. With ``joined``, a two-layer GraphSAGE (Hamilton, Ying and
Leskovec 2017) of means: with M A's rows divided by their sums, and [ , ] side by side,

    H = relu([M X, X] W1 + b1),   Z = [M H, H] W2 + b2.

With ``attends`` each layer of the GCN has attention in place of S, and two vectors more
(:mod:`ldpsim.devices.federated.attention`).

Plain numpy: a device needs no torch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldpsim.devices.array_types import FloatArray as FloatArray

# Numbers of a message are at most this large. A product of two weights, summed over the inputs and the hidden units, is
# then far below float32's limit. The weights of a training that works are far below this limit.
LARGEST = 2.0**30


@dataclass(frozen=True)
class Shape:
    """Sizes of the network.

    Args:
        d: Number of inputs.
        hidden: Number of hidden units.
        classes: Number of outputs.
        joined: Whether both matrices have a second half, for the own row beside the mean of the neighbours'.
        attends: Whether each layer has two attention vectors, behind the other weights.

    Raises:
        ValueError: for a size below 1.
    """

    d: int
    hidden: int
    classes: int
    joined: bool = False
    attends: bool = False

    def __post_init__(self) -> None:
        if min(self.d, self.hidden, self.classes) < 1:
            raise ValueError(f"a network of {self.d} inputs, {self.hidden} hidden units, {self.classes} classes")

    @property
    def size(self) -> int:
        """Number of weights."""
        layers = self.width * self.hidden + self.hidden + self.halves * self.hidden * self.classes + self.classes
        return layers + (2 * (self.hidden + self.classes) if self.attends else 0)

    @property
    def halves(self) -> int:
        """Number of halves of a matrix: 2 if joined."""
        return 2 if self.joined else 1

    @property
    def width(self) -> int:
        """Number of rows of W1."""
        return self.halves * self.d

    def parts(self, flat: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Views of (.., size): W1 (.., width, hidden), b1 (.., hidden), W2 (.., both, classes), b2 (.., classes).

        ``both`` is ``halves`` times ``hidden``.
        """
        d, h, c = self.width, self.hidden, self.classes
        both = self.halves * h
        at = np.cumsum([0, d * h, h, both * c, c])
        w1, b1, w2, b2 = (flat[..., at[k] : at[k + 1]] for k in range(4))
        lead = flat.shape[:-1]
        return w1.reshape(*lead, d, h), b1, w2.reshape(*lead, both, c), b2

    def attention(self, flat: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Views of (size,): the attention vectors s and t of both layers, (2, hidden) and (2, classes)."""
        first, second = np.split(flat[-2 * (self.hidden + self.classes) :], [2 * self.hidden])
        return first.reshape(2, -1), second.reshape(2, -1)

    def initial(self, seed: int, dtype: type[np.floating] = np.float32) -> FloatArray:
        """Return (size,): Glorot uniform matrices and attention vectors, biases of 0."""
        rng = np.random.Generator(np.random.PCG64(seed))
        flat = np.zeros(self.size)
        w1, _, w2, _ = self.parts(flat)
        for matrix in (w1, w2):
            bound = math.sqrt(6 / sum(matrix.shape))
            matrix[...] = rng.uniform(-bound, bound, matrix.shape)
        for vectors in self.attention(flat) if self.attends else ():
            bound = math.sqrt(6 / (1 + vectors.shape[1]))
            vectors[...] = rng.uniform(-bound, bound, vectors.shape)
        return flat.astype(dtype)


def are_usable(numbers: FloatArray) -> bool:
    """Return whether all numbers of strangers are finite and at most :data:`LARGEST` in size; True for none.

    >>> [are_usable(np.array(some)) for some in ([], [1.0, -LARGEST], [math.nan], [1.0, -math.inf], [1.1 * LARGEST])]
    [True, True, False, False, False]
    """
    return not numbers.size or bool(numbers.min() >= -LARGEST and numbers.max() <= LARGEST)  # False for a nan


def usable(numbers: FloatArray) -> FloatArray:
    """Return the nearest numbers that :func:`are_usable` allows, of the same shape and type; 0 for a nan.

    Everything that is sent in a training passes through here. So one party whose numbers are as large as may be cannot
    drive the others, or the server, to numbers that are refused.

    >>> usable(np.array([1.0, math.nan, -math.inf])).tolist() == [1.0, 0.0, -LARGEST]
    True
    """
    return numbers if are_usable(numbers) else np.clip(np.nan_to_num(numbers, nan=0.0), -LARGEST, LARGEST)


def diverging() -> np.errstate:
    """Return a context in which numpy gives no warning where local steps diverge, as any steps can that are too long.

    The device may say nothing then: whether they do depends on its data.
    """
    return np.errstate(over="ignore", invalid="ignore")


def softmax(scores: FloatArray) -> FloatArray:
    """Return the softmax over the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: FloatArray = powers / powers.sum(axis=-1, keepdims=True)
    return result
