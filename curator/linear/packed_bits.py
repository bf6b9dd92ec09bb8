"""A matrix of bits, packed eight to a byte, with scaled columns: what a dense float32 matrix holds in 32 times less.

Products unpack a strip of columns or a block of rows at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Reported bits above which they stay packed: products of bytes take a third of the time, and a quarter of the memory.
LARGE = 1 << 25


@dataclass(frozen=True, eq=False)
class PackedBits:
    """Bits times a factor of each column.

    Args:
        packed: uint8 (n, ceil(d / 8)), rows of ``np.packbits``.
        factor: float32 (d,).

    >>> PackedBits(np.packbits([[1, 0, 1]], axis=1), np.array([2, 2, 5], np.float32))[:, slice(0, 3)]
    array([[2., 0., 5.]], dtype=float32)
    """

    packed: NDArray[np.uint8] = field(repr=False)
    factor: NDArray[np.float32] = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return len(self.packed), len(self.factor)

    @property
    def nnz(self) -> int:
        """Number of entries that a product reads: all of them."""
        return self.shape[0] * self.shape[1]

    def __getitem__(self, key: tuple[Any, slice]) -> NDArray[np.float32]:
        """float32: some rows of columns that begin at a whole byte."""
        rows, columns = key
        first, last, _ = columns.indices(len(self.factor))
        bits = np.unpackbits(self.packed[rows, first // 8 : (last + 7) // 8], axis=1, count=last - first)
        return bits.astype(np.float32) * self.factor[columns]

    def scaled(self, factor: NDArray[np.float32]) -> PackedBits:
        """Return the matrix with each column times another factor."""
        return PackedBits(self.packed, self.factor * factor)
