"""Constant matrices that multiply a network's variables from the left: dense, sparse, or a product."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, issparse
from torch import Tensor

from curator.linear.factored import Factored
from curator.linear.hops import MeanOfHops, mean_over
from curator.linear.packed import PackedBits

_BITS_AT_ONCE = 1 << 22
_SPARSE_BELOW = 0.2  # share of non-zero entries under which a sparse product is faster


class Constant:
    """A constant matrix, dense or sparse, that multiplies variables from the left.

    Args:
        matrix: float32 numpy array or scipy sparse matrix.
        device: Device of the matrix.

    >>> (Constant(np.eye(2, dtype=np.float32), torch.device("cpu")) @ torch.ones(2, 1)).T
    tensor([[1., 1.]])
    """

    def __init__(self, matrix: Any, device: torch.device) -> None:
        self.shape = matrix.shape
        sparse = issparse(matrix)
        if sparse and matrix.nnz > _SPARSE_BELOW * math.prod(matrix.shape):
            matrix, sparse = matrix.toarray(), False
        self.sparse = sparse
        self.matrix = _to_torch(matrix, device) if sparse else torch.from_numpy(np.ascontiguousarray(matrix)).to(device)
        # for the backward pass; a sparse transpose is sorted once, here
        self.transposed = _to_torch(matrix.T, device) if sparse else None

    def __matmul__(self, right: Tensor) -> Tensor:
        if self.sparse:
            product: Tensor = _SparseProduct.apply(right, self.matrix, self.transposed)  # type: ignore[no-untyped-call]
            return product
        return self.matrix @ right


class Bits:
    """Packed bits that multiply variables from the left; a block of rows is unpacked at a time."""

    def __init__(self, bits: PackedBits, device: torch.device) -> None:
        self.shape = bits.shape
        self.packed = torch.from_numpy(np.ascontiguousarray(bits.packed)).to(device)
        self.factor = torch.from_numpy(np.asarray(bits.factor, np.float32))[:, None].to(device)

    def blocks(self) -> Iterator[tuple[slice, Tensor]]:
        """Yield rows, and their bits as float32 (rows, d)."""
        (n, d), step = self.shape, max(1, _BITS_AT_ONCE // max(1, self.shape[1]))
        for start in range(0, n, step):
            rows = slice(start, start + step)
            held = self.packed[rows]
            if held.is_cuda:
                shifts = torch.arange(7, -1, -1, device=held.device, dtype=torch.uint8)
                yield rows, ((held[:, :, None] >> shifts) & 1).flatten(1)[:, :d].float()
            else:
                yield rows, torch.from_numpy(np.unpackbits(held.numpy(), axis=1, count=d)).float()

    def __matmul__(self, right: Tensor) -> Tensor:
        product: Tensor = _BitProduct.apply(self.factor * right, self)  # type: ignore[no-untyped-call]
        return product


class Product:
    """A :class:`curator.linear.factored.Factored` that multiplies variables from the left, factor by factor."""

    def __init__(self, features: Factored, device: torch.device) -> None:
        self.shape = features.shape
        base = features.base
        self.base = Bits(base, device) if isinstance(base, PackedBits) else Constant(base, device)
        known = {id(step): _step(step, device) for step in features.steps}
        self.steps = [known[id(step)] for step in features.steps]
        self.left, self.right = (torch.from_numpy(part).to(device) for part in (features.left, features.right))

    def __matmul__(self, right: Tensor) -> Tensor:
        product = self.base @ right
        for step in self.steps:
            product = step @ product
        return product + self.left @ (self.right @ right)


class _Hops:
    """A :class:`curator.linear.hops.MeanOfHops` that multiplies variables from the left, hop by hop."""

    def __init__(self, step: MeanOfHops, device: torch.device) -> None:
        self.matrix, self.hops = Constant(step.matrix, device), step.hops

    def __matmul__(self, right: Tensor) -> Tensor:
        product: Tensor = mean_over(self.matrix, self.hops, right)
        return product


def _step(step: csr_array | MeanOfHops, device: torch.device) -> Constant | _Hops:
    return _Hops(step, device) if isinstance(step, MeanOfHops) else Constant(step, device)


def constant(matrix: Any, device: torch.device) -> Constant | Product:
    """Return the features of a graph, dense, sparse or a product, as a constant."""
    return Product(matrix, device) if isinstance(matrix, Factored) else Constant(matrix, device)


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, right: Tensor, matrix: Tensor, transposed: Tensor) -> Tensor:
        ctx.transposed = transposed
        return _times(matrix, right)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _times(ctx.transposed, gradient), None, None


class _BitProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, right: Tensor, bits: Bits) -> Tensor:
        ctx.bits = bits
        product = right.new_empty(bits.shape[0], right.shape[1])
        for rows, block in bits.blocks():
            torch.mm(block, right, out=product[rows])
        return product

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        total = gradient.new_zeros(ctx.bits.shape[1], gradient.shape[1])
        for rows, block in ctx.bits.blocks():
            total.addmm_(block.T, gradient[rows])
        return total, None


def _times(sparse: Tensor, right: Tensor) -> Tensor:
    """Return ``sparse @ right``, of which PyTorch makes zeros and a copy of them first."""
    product = right.new_empty(sparse.shape[0], right.shape[1])
    return torch.addmm(product, sparse, right, beta=0, out=product)


def _to_torch(matrix: Any, device: torch.device) -> Tensor:
    rows = csr_array(matrix)
    rows.sort_indices()  # whose arrays are shared, not copied, where their types are these
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "sparse CSR is in beta"
        starts, columns = (torch.from_numpy(ends.astype(np.int32, copy=False)) for ends in (rows.indptr, rows.indices))
        values = torch.from_numpy(rows.data.astype(np.float32, copy=False))
        return torch.sparse_csr_tensor(starts, columns, values, size=rows.shape).to(device)
