"""Perceptron: layers that mix no people, the network on features alone of methods and null models.

    h_0 = x,    h_k = norm(act(drop(h_{k-1}) W_k + b_k)),    scores = drop(h_{K-1}) W_K + b_K,

x float32 (n, d), W_k (inputs, outputs) and b_k (outputs,). With ``residual`` a hidden layer is the sum with what it
reads wherever both have one width. ``plain=False`` leaves no scores: the last layer is as those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ldpsim.curator.linear.torch_matrix import Constant, Product


class Layer(nn.Module):
    """x W + b for rows x, a tensor or a constant matrix; fresh weights are those of PyTorch's linear layer.

    Args:
        inputs, outputs: Numbers of columns of x and of the result.
        bias: Whether there is b.
        bound: Weights and bias are uniform in ± bound; None for 1 / sqrt(inputs).
        generator: Source of them; None for torch's global state.
    """

    bias: nn.Parameter | None

    def __init__(
        self, inputs: int, outputs: int, *, bias: bool = True, bound: float | None = None,
        generator: torch.Generator | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        most = max(1, inputs) ** -0.5 if bound is None else bound

        def drawn(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape).uniform_(-most, most, generator=generator))

        self.weight = drawn(inputs, outputs)
        self.bias = drawn(outputs) if bias else None

    def forward(self, rows: Tensor | Constant | Product) -> Tensor:
        """float32 (n, outputs)."""
        product: Tensor = rows @ self.weight
        return product if self.bias is None else product + self.bias


def norm_of(kind: str, units: int) -> nn.Module:
    """Return a layer of normalisation: over the people (``batch``), over the own units (``group``), or none."""
    if kind == "batch":
        return nn.BatchNorm1d(units)
    return nn.GroupNorm(1, units) if kind == "group" else nn.Identity()


class Perceptron(nn.Module):
    """The layers above.

    Args:
        sizes: Units of the input and of each layer.
        activation: act.
        norm: ``batch``, ``group`` or ``none``. Where each person's gradient is clipped, no layer may mix people: not
            ``batch``.
        drop: Dropout in the mode of training; None for none.
        drop_input: Whether the input has dropout too.
        residual, plain: See above.
        bound: Numbers of inputs and outputs -> bound of a layer's fresh weights; None for that of :class:`Layer`.
        others: Those of :class:`Layer`.
    """

    def __init__(
        self, sizes: Sequence[int], *, activation: Callable[[Tensor], Tensor] = torch.relu, norm: str = "none",
        drop: Callable[[Tensor], Tensor] | None = None, drop_input: bool = False, residual: bool = False,
        plain: bool = True, bound: Callable[[int, int], float] | None = None, **others: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        pairs = list(zip(sizes, sizes[1:], strict=False))
        self.layers = nn.ModuleList(
            Layer(*pair, bound=None if bound is None else bound(*pair), **others) for pair in pairs
        )
        self.norms = nn.ModuleList(norm_of(norm, units) for units in sizes[1 : -1 if plain else None])
        self.activation, self.drop, self.drop_input, self.residual = activation, drop, drop_input, residual

    def forward(self, inputs: Any) -> Tensor:
        """float32 (n, units of the last layer), of a tensor (n, d) or a constant matrix."""
        rows = inputs
        for number, layer in enumerate(self.layers):
            below = rows
            drops = self.drop is not None and self.training and (number or self.drop_input)
            rows = layer(self.drop(below) if drops else below)  # type: ignore[misc]
            if number < len(self.norms):
                rows = self.norms[number](self.activation(rows))
                rows = rows + below if self.residual and rows.shape == below.shape else rows
        result: Tensor = rows
        return result
