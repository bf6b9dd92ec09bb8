"""Constant matrices that multiply a network's variables from the left: dense, sparse, or a product."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, issparse
from torch import Tensor

from ldpsim.curator.linear.bit_matrix import BitMatrix
from ldpsim.curator.linear.factored import Factored
from ldpsim.curator.linear.mean_of_hops import MeanOfHops
from ldpsim.curator.linear.packed_bits import PackedBits

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
        self.shape, self.sparse = matrix.shape, issparse(matrix)
        if self.sparse and matrix.nnz > _SPARSE_BELOW * math.prod(matrix.shape):
            matrix, self.sparse = matrix.toarray(), False
        self._device = device
        self._entries = _sorted(matrix) if self.sparse else None
        self.matrix = (torch.from_numpy(np.ascontiguousarray(matrix)).to(device) if self._entries is None
                       else _to_torch(self._entries, device))  # fmt: skip

    @cached_property
    def transposed(self) -> Tensor:
        """The transpose, for the backward pass. A sparse one is made when it is first needed, and then kept."""
        return self.matrix.t() if self._entries is None else _to_torch(_sorted(self._entries.T), self._device)

    def rows(self, numbers: Tensor) -> ConstantRows | None:
        """Return some rows of a sparse matrix; None for a dense one, of which other rows give other bytes.

        Args:
            numbers: int64 row numbers, each once.
        """
        if self._entries is None:
            return None
        return ConstantRows(self, _to_torch(self._entries[numbers.cpu().numpy()], self._device), numbers)

    def times_transposed(self, gradient: Tensor) -> Tensor:
        """Return the product of the sparse transpose, for the backward pass."""
        return _times(self.transposed, gradient)

    def __matmul__(self, right: Tensor) -> Tensor:
        if self.sparse:
            return _sparse_product(right, self)
        product: Tensor = _DenseProduct.apply(right, self.matrix)  # type: ignore[no-untyped-call]
        return product


@dataclass(frozen=True, eq=False)
class ConstantRows:
    """Some rows of a sparse constant that multiply variables from the left.

    A row of a sparse product depends on no other row. The gradient goes through the whole transpose, so that its sums
    have as many summands as with all rows, in the same order. So products and gradients have the bytes of those with
    all rows, whichever way a processor adds.

    Args:
        whole: The constant.
        matrix: Its rows.
        numbers: int64, their numbers.
    """

    whole: Constant
    matrix: Tensor
    numbers: Tensor

    def times_transposed(self, gradient: Tensor) -> Tensor:
        """Return the product of the transpose, for the backward pass."""
        all_rows = gradient.new_zeros(self.whole.shape[0], gradient.shape[1])
        return self.whole.times_transposed(all_rows.index_copy_(0, self.numbers, gradient))

    def __matmul__(self, right: Tensor) -> Tensor:
        return _sparse_product(right, self)


class Product:
    """A :class:`ldpsim.curator.linear.factored.Factored` that multiplies variables from the left, factor by factor."""

    def __init__(self, features: Factored, device: torch.device) -> None:
        self.shape = features.shape
        base = features.base
        self.base = BitMatrix(base, device) if isinstance(base, PackedBits) else Constant(base, device)
        steps = {id(step): _step(step, device) for step in features.steps}  # the same matrix once
        self.steps = [steps[id(step)] for step in features.steps]
        self.left, self.right = (torch.from_numpy(part).to(device) for part in (features.left, features.right))

    def __matmul__(self, right: Tensor) -> Tensor:
        product = self.base @ right
        for step in self.steps:
            product = step @ product
        return product + self.left @ (self.right @ right)


def _step(step: csr_array | MeanOfHops, device: torch.device) -> Constant | MeanOfHops:
    if isinstance(step, MeanOfHops):
        return replace(step, matrix=Constant(step.matrix, device))
    return Constant(step, device)


def constant(matrix: Any, device: torch.device) -> Constant | Product:
    """Return the features of a graph, dense, sparse or a product, as a constant."""
    return Product(matrix, device) if isinstance(matrix, Factored) else Constant(matrix, device)


def scores_of_nodes(product: Tensor, bias: Tensor, nodes: Tensor, n: int, offsets: Tensor | None = None) -> Tensor:
    """Return product + bias + offsets[nodes], float32 (k, classes).

    The gradients have the bytes of product + bias + offsets for all nodes, of which ``nodes`` are taken out. A bias has
    the sum over all nodes, most of them 0: a sum over ``nodes`` alone would add in another order.

    Args:
        product: float32 (k, classes), of the nodes.
        bias: float32 (classes,).
        nodes: int64 (k,), each once.
        n: Number of all nodes.
        offsets: float32 (n, classes), of all nodes; None for 0.
    """
    total: Tensor = _ScoresOfNodes.apply(product, bias, nodes, n, offsets)  # type: ignore[no-untyped-call]
    return total


def _sparse_product(right: Tensor, left: Constant | ConstantRows) -> Tensor:
    product: Tensor = _SparseProduct.apply(right, left)  # type: ignore[no-untyped-call]
    return product


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, right: Tensor, left: Constant | ConstantRows) -> Tensor:
        ctx.left = left
        return _times(left.matrix, right)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.left.times_transposed(gradient), None


class _DenseProduct(torch.autograd.Function):
    """A dense constant times variables.

    The gradient is (g' M)', which reads the large M row by row, and not M' g: the same bytes in up to half the time.
    """

    @staticmethod
    def forward(ctx: Any, right: Tensor, left: Tensor) -> Tensor:
        ctx.left = left
        return left @ right

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return (gradient.t() @ ctx.left).t(), None


class _ScoresOfNodes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, product: Tensor, bias: Tensor, nodes: Tensor, n: int, offsets: Tensor | None) -> Tensor:
        ctx.nodes, ctx.n, ctx.has_offsets = nodes, n, offsets is not None
        total = product + bias
        return total if offsets is None else total.add_(offsets.index_select(0, nodes))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None, Tensor | None]:
        all_nodes = gradient.new_zeros(ctx.n, gradient.shape[1]).index_copy_(0, ctx.nodes, gradient)
        return gradient, all_nodes.sum(0), None, None, all_nodes if ctx.has_offsets else None


def _times(sparse: Tensor, right: Tensor) -> Tensor:
    """Return ``sparse @ right``, of which PyTorch makes zeros and a copy of them first."""
    product = right.new_empty(sparse.shape[0], right.shape[1])
    return torch.addmm(product, sparse, right, beta=0, out=product)


def _sorted(matrix: Any) -> csr_array:
    """Return sorted rows, float32; arrays are shared, not copied, where their types are these."""
    rows = csr_array(matrix)
    rows.sort_indices()
    indices, starts = (ends.astype(np.int32, copy=False) for ends in (rows.indices, rows.indptr))
    return csr_array((rows.data.astype(np.float32, copy=False), indices, starts), shape=rows.shape)


def _to_torch(rows: csr_array, device: torch.device) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "sparse CSR is in beta"
        starts, columns, values = (torch.from_numpy(part) for part in (rows.indptr, rows.indices, rows.data))
        return torch.sparse_csr_tensor(starts, columns, values, size=rows.shape).to(device)
