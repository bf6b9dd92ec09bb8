"""Features as a product of factors that is never multiplied out.

A multi-bit report holds m of d features. The reports of n people are therefore a sparse matrix
B, and K hops of smoothing give S ... S B plus S ... S 1 times the middle of the range, which all
features share. Multiplied out this is a dense n x d matrix. A layer only needs it times its
weights, and S (S (B W)) costs K times the number of edges: for the papers' graphs three to
fifteen times less than the dense product.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse

from ldpsim.curator.linear.mean_of_hops import MeanOfHops
from ldpsim.curator.linear.packed_bits import PackedBits
from ldpsim.curator.linear.scaling import standardise
from ldpsim.curator.linear.strips import strips
from ldpsim.devices.array_types import IntArray

_SPARSE_COSTS = 6  # a sparse multiply-add costs 6 dense ones, for 16 to 32 columns on one core
_MANY, _SPARSE_COSTS_OF_MANY = 1 << 18, 16  # more people: their rows leave the cache of a core


@dataclass(frozen=True, eq=False)
class Factored:
    """The matrix steps[-1] ... steps[0] base + left right.

    Args:
        base: float32 CSR (n, d), or packed bits.
        steps: Matrices float32 CSR (n, n), or means over hops of one, the first one applied first.
        left, right: float32 (n, r) and (r, d) with a small r.

    >>> ones = csr_array(np.ones((2, 2), np.float32))
    >>> np.asarray(product_with_middle(csr_array(np.eye(2, dtype=np.float32)), 0.5, ones, hops=1))
    array([[2., 2.],
           [2., 2.]], dtype=float32)
    """

    base: csr_array | PackedBits = field(repr=False)
    steps: tuple[csr_array | MeanOfHops, ...] = field(repr=False)
    left: NDArray[np.float32] = field(repr=False)
    right: NDArray[np.float32] = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return self.base.shape[0], self.base.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of an entry."""
        return np.dtype(np.float32)

    def is_cheaper(self) -> bool:
        """Return whether products with it cost less than those with the dense matrix."""
        entries = self.base.nnz + sum(step.nnz for step in self.steps)
        costs = _SPARSE_COSTS if self.shape[0] <= _MANY else _SPARSE_COSTS_OF_MANY
        return costs * entries < self.shape[0] * self.shape[1]

    def __getitem__(self, key: tuple[slice, slice]) -> NDArray[np.float32]:
        """float32 (n, k): all rows of some columns, multiplied out."""
        rows, columns = key
        if rows != slice(None):
            raise IndexError("only whole columns can be multiplied out")
        strip: Any = self.base[:, columns]
        if issparse(strip):
            strip = strip.toarray()
        for step in self.steps:
            strip = step @ strip
        return np.asarray(strip + self.left @ self.right[:, columns], np.float32)

    def rows(self, people: IntArray) -> NDArray[np.float32]:
        """float32 (k, d): these rows of a matrix without steps, multiplied out."""
        if self.steps:
            raise IndexError("only whole columns can be multiplied out")
        base: Any = self.base[people, : self.shape[1]]
        return np.asarray((base.toarray() if issparse(base) else base) + self.left[people] @ self.right, np.float32)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Multiply all of it out (``numpy.asarray``)."""
        return self[:, :].astype(dtype or np.float32, copy=False)

    def unit_rows(self) -> Factored:
        """Return it with rows of length 1; a row of zeros stays."""
        squares = sum(np.square(self[:, columns]).sum(axis=1) for columns in strips(*self.shape))
        lengths = np.sqrt(np.asarray(squares))
        factors = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return self.propagated(csr_array(diags_array(factors)))

    def propagated(self, matrix: csr_array | MeanOfHops) -> Factored:
        """Return ``matrix`` times this matrix."""
        return replace(self, steps=(*self.steps, matrix), left=np.asarray(matrix @ self.left, np.float32))

    def times(self, factor: float) -> Factored:
        """Return this matrix times a number."""
        base = self._scaled_base(np.full(self.shape[1], factor, np.float32))
        return replace(self, base=base, left=self.left * np.float32(factor))

    def _scaled_base(self, factor: NDArray[np.float32]) -> csr_array | PackedBits:
        """Return the base with each column times a factor."""
        if isinstance(self.base, PackedBits):
            return self.base.scaled(factor)
        return csr_array(self.base @ diags_array(factor)).astype(np.float32)

    def standardised(
        self, counted: NDArray[np.bool_] | None = None
    ) -> tuple[Factored, NDArray[np.float32], NDArray[np.float32]]:
        """Return it with columns of mean 0 and standard deviation 1, the means and the deviations, float32 (d,).

        Args:
            counted: bool (n,), as in :func:`ldpsim.curator.linear.scaling.standardise`.
        """
        d = self.shape[1]
        mean, deviation = np.empty(d, np.float32), np.empty(d, np.float32)
        factor = np.zeros(d, np.float32)
        for columns in strips(*self.shape):
            strip = self[:, columns]
            mean[columns], deviation[columns] = standardise(strip, counted)
            varies = strip.any(axis=0)  # a constant column was made 0
            factor[columns] = np.divide(1, deviation[columns], out=np.zeros_like(deviation[columns]), where=varies)
        base = self._scaled_base(factor)
        left = np.concatenate([self.left, np.ones((self.shape[0], 1), np.float32)], axis=1)
        right = np.concatenate([self.right * factor, -(mean * factor)[None, :]])
        result = replace(self, base=base, left=left, right=right)
        if counted is not None and not counted.all():
            result = result.propagated(csr_array(diags_array(counted.astype(np.float32))))
        return result, mean, deviation


def product_of(base: csr_array | PackedBits, matrix: csr_array, hops: int) -> Factored:
    """Return matrix^hops base."""
    n, d = base.shape
    return Factored(base, (matrix,) * hops, np.zeros((n, 0), np.float32), np.zeros((0, d), np.float32))


def product_with_middle(base: Any, middle: float, matrix: csr_array, hops: int) -> Factored:
    """Return matrix^hops (base + middle 1 1^T).

    Args:
        base: sparse (n, d), the estimates of the reports, less ``middle``.
        middle: The constant that all entries share.
        matrix: float32 CSR (n, n).
        hops: Number of applications of ``matrix``.
    """
    left = np.full((base.shape[0], 1), middle, np.float32)
    for _ in range(hops):
        left = matrix @ left
    return Factored(csr_array(base).astype(np.float32), (matrix,) * hops, left,
                    np.ones((1, base.shape[1]), np.float32))  # fmt: skip
