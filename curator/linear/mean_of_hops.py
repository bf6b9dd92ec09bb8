"""The mean over several numbers of hops, as one step of :class:`ldpsim.curator.linear.factored.Factored`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class MeanOfHops:
    """(M + M^2 + ... + M^hops) / hops: a matrix that is never multiplied out.

    Args:
        matrix: float32 CSR (n, n), or a constant of torch.
        hops: At least 1.

    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> MeanOfHops(csr_array(np.array([[0, 2], [0, 0]], np.float32)), 2) @ np.array([[0], [3]], np.float32)
    array([[3.],
           [0.]], dtype=float32)
    """

    matrix: Any = field(repr=False)
    hops: int

    @property
    def nnz(self) -> int:
        """Multiply-adds of a product with one column."""
        return self.hops * int(self.matrix.nnz)

    def __matmul__(self, right: Any) -> Any:
        """Multiply by Horner's rule; numpy or torch, as the matrix is."""
        total = self.matrix @ right
        for _ in range(self.hops - 1):
            total = self.matrix @ (total + right)
        return total / self.hops
