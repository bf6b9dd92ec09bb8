"""A public model of a person's words, in whole numbers: what they say for each class.

With m the means, A the weights and B the squared weights of words, a person with the words W gets

    f_c = m_c + 2^8 (sum over W of A_kc) // isqrt(sum over W of B_k),
    e_c = (a f_c + b ln max(f_c, .01)) // 2^8.

That is a linear model on tf-idf rows of length 1, and the pool of its scores with their logarithms. A word is a
column whose entry is above 0. Every number is whole, so the result is the same on every machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.fixed_point import UNIT_BITS, logarithm
from ldpsim.devices.mechanisms.class_table import as_text, from_text

UNIT = 1 << UNIT_BITS
ROOT_BITS = 8  # a root of squares in 2^-16 is in 2^-8
EXPONENT_BITS = 8
LARGEST_EXPONENT = 1 << 16
_LEAST = round(0.01 * UNIT)
_MOST = 1 << 31  # of a share, so that no product leaves 64 bits
_ONE = UNIT_BITS * round(math.log(2) * UNIT)  # ln of UNIT, in units


@dataclass(frozen=True, eq=False)
class WordModel:
    """A model that was read.

    Args:
        weights: int32 (columns, classes): A, in units of :mod:`ldpsim.devices.fixed_point`.
        squares: int32 (columns,), 0 or more: B, in 2^-16.
        means: int32 (classes,): m, in units.
        exponents: a and b, in 2^-8, at most 2^16 in size.

    Raises:
        ValueError: for a negative square, or exponents that are not two such whole numbers.
    """

    weights: IntArray = field(repr=False)
    squares: IntArray = field(repr=False)
    means: IntArray = field(repr=False)
    exponents: tuple[int, int]

    def __post_init__(self) -> None:
        whole = len(self.exponents) == 2 and all(type(e) is int for e in self.exponents)
        if not whole or max(map(abs, self.exponents)) > LARGEST_EXPONENT:
            raise ValueError(f"a model has two exponents of at most {LARGEST_EXPONENT} in size")
        if self.squares.min(initial=0) < 0:
            raise ValueError("a squared weight is negative")

    def shares(self, words: Any) -> IntArray:
        """int64 (rows, classes): f, in units.

        Args:
            words: (rows, columns), int64, numpy or CSR: zeros and ones, or levels. For numpy the time does not depend
                on them.
        """
        return self.shares_of_sums(words @ self.weights, words @ self.squares)

    def shares_of_sums(self, weights: IntArray, squares: IntArray) -> IntArray:
        """int64 (rows, classes): f, from the sums of the words' weights (rows, classes) and squares (rows,)."""
        roots = np.array([math.isqrt(length) for length in squares.tolist()], np.int64)
        found = self.means + (weights << ROOT_BITS) // np.maximum(roots, 1)[:, None]
        return np.asarray(np.clip(found, -_MOST, _MOST), np.int64)

    def evidence(self, shares: IntArray) -> IntArray:
        """int64 (rows, classes): e, in units, from f."""
        logs = logarithm(np.maximum(shares, _LEAST)) - _ONE
        return np.asarray((self.exponents[0] * shares + self.exponents[1] * logs) >> EXPONENT_BITS)

    def silent(self) -> WordModel:
        """Return a model of the same size that says nothing."""
        return replace(self, weights=0 * self.weights, squares=0 * self.squares, means=0 * self.means)

    def as_text(self) -> str:
        """Return all but the exponents as text; :func:`read_model` reads it back.

        Raises:
            ValueError: for a number that 32 bits do not hold.
        """
        columns, classes = self.weights.shape
        rows = np.zeros((columns + 1, classes + 1), np.int64)
        rows[:-1, :-1], rows[:-1, -1], rows[-1, :-1] = self.weights, self.squares, self.means
        if np.abs(rows).max(initial=0) >= 1 << 31:
            raise ValueError("a model holds a number beyond 32 bits")
        return as_text(rows.astype("<i4").view(np.uint8))


def read_model(text: object, columns: int, classes: int, exponents: tuple[int, ...]) -> WordModel:
    """Read :meth:`WordModel.as_text` back; ValueError for any other text, or a model that is not allowed."""
    size = 4 * (columns + 1) * (classes + 1)
    rows = from_text(text, size).view("<i4").reshape(columns + 1, classes + 1).astype(np.int64)
    if rows[-1, -1]:
        raise ValueError("the last number of a model is not 0")
    return WordModel(rows[:-1, :-1], rows[:-1, -1], rows[-1, :-1], exponents)  # type: ignore[arg-type]
