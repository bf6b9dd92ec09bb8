"""Attention over all pairs of nodes, for graphs in which a large share of the pairs are edges.

With s_ij = leakyrelu(t_i + r_j) and weights w_ij, 0 for no edge,

    out_i = sum_j a_ij v_j,    a_ij = w_ij exp(s_ij) / sum_k w_ik exp(s_ik).

The matrix a is never held as a whole. A block of rows, small enough for a processor's cache, is
computed, used and dropped, and computed once more for the gradients,

    dv = a^T g,    ds_ij = a_ij (g_i . v_j - g_i . out_i),    dt_i = sum_j ds_ij s'_ij,
    dr_j = sum_i ds_ij s'_ij,    s' = 1, or the slope below 0.

If weights count twice, out_i = sum_j a_ij w_ij v_j with the same a, dv = (a w)^T g, and
ds_ij = a_ij (w_ij g_i . v_j - g_i . out_i).

The logarithms of the weights are the only n x n array.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ldpsim.devices.training_task import ATTENTION_SLOPE

_BLOCK = 2**18  # entries of a block of rows: 1 MiB


def attend(values: Tensor, sources: Tensor, targets: Tensor, log_weights: Tensor, *, twice: bool = False) -> Tensor:
    """Return out, the attention-weighted sum of all nodes' values for every node.

    Args:
        values: float32 (n, k): v.
        sources, targets: float32 (n,): r and t.
        log_weights: float32 (n, n), constant: log w_ij, -inf for no edge. Every row has an edge.
        twice: Multiply a share by its pair's weight once more.

    Returns:
        float32 (n, k).
    """
    taken: Tensor = _Attention.apply(values, sources, targets, log_weights, twice)  # type: ignore[no-untyped-call]
    return taken


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, sources: Tensor, targets: Tensor, log_weights: Tensor, twice: bool) -> Tensor:
        taken = torch.empty_like(values)
        for rows in _blocks(log_weights):
            score = functional.leaky_relu_(targets[rows, None] + sources, ATTENTION_SLOPE).add_(log_weights[rows])
            share = torch.softmax(score, dim=1)
            taken[rows] = (share.mul_(log_weights[rows].exp()) if twice else share) @ values
        ctx.save_for_backward(values, sources, targets, taken)
        ctx.log_weights, ctx.twice = log_weights, twice
        return taken

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        values, sources, targets, taken = ctx.saved_tensors
        for_values, for_sources = torch.zeros_like(values), torch.zeros_like(sources)
        for_targets = torch.empty_like(targets)
        own = (gradient * taken).sum(dim=1, keepdim=True)
        for rows in _blocks(ctx.log_weights):
            score = targets[rows, None] + sources
            slope = torch.where(score > 0, 1.0, ATTENTION_SLOPE)
            share = torch.softmax(score.mul_(slope).add_(ctx.log_weights[rows]), dim=1)
            change = gradient[rows] @ values.T
            if ctx.twice:
                weights = ctx.log_weights[rows].exp()
                for_values.addmm_((share * weights).T, gradient[rows])
                change.mul_(weights)
            else:
                for_values.addmm_(share.T, gradient[rows])
            change = change.sub_(own[rows]).mul_(share).mul_(slope)
            for_targets[rows] = change.sum(dim=1)
            for_sources += change.sum(dim=0)
        return for_values, for_sources, for_targets, None, None


def _blocks(matrix: Tensor) -> Iterator[slice]:
    n = len(matrix)
    step = max(1, _BLOCK // max(1, n))
    return (slice(first, first + step) for first in range(0, n, step))
