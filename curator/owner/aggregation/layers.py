"""Networks of GAP and ProGAP: perceptrons of SELU, normalisation and rows of norm 1, as in the public code.

Where gradients are clipped person by person, no layer may mix people: ``norm`` is then ``group`` or ``none``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from ldpsim.curator.learning.perceptron import Layer, Perceptron, norm_of
from ldpsim.curator.linear.torch_matrix import Constant

_Network = TypeVar("_Network", bound=nn.Module)


def selu_perceptron(sizes: Sequence[int], *, norm: str, plain: bool = True) -> Perceptron:
    """Return a perceptron of SELU with normalisation between its layers."""
    return Perceptron(sizes, activation=functional.selu, norm=norm, plain=plain)


class Alone(nn.Module):
    """Perceptron of three layers on the own features: the network without a graph."""

    def __init__(self, features: int, hidden: int, classes: int, *, norm: str) -> None:
        super().__init__()
        self.layers = selu_perceptron([features, hidden, hidden, classes], norm=norm)

    def forward(self, inputs: Sequence[Tensor | Constant]) -> Tensor:
        """Return scores, float32 (people, classes), of the features."""
        return cast(Tensor, self.layers(inputs[0]))


class Encoder(nn.Module):
    """Encoder of GAP: two layers, rows of norm 1, normalisation, SELU, and a head that is dropped after training."""

    def __init__(self, features: int, hidden: int, classes: int, *, norm: str) -> None:
        super().__init__()
        self.layers = selu_perceptron([features, hidden, hidden], norm=norm)
        self.norm = norm_of(norm, hidden)
        self.head = Layer(hidden, classes)

    def encoded(self, features: Tensor | Constant) -> Tensor:
        """Return rows of norm 1, float32 (people, hidden)."""
        return functional.normalize(self.layers(features), dim=1)

    def forward(self, inputs: Sequence[Tensor | Constant]) -> Tensor:
        """Return scores, float32 (people, classes), of the features."""
        return cast(Tensor, self.head(functional.selu(self.norm(self.encoded(inputs[0])))))


class Classifier(nn.Module):
    """Classifier of GAP: a layer for each hop, joined, rows of norm 1, normalisation, SELU and a head."""

    def __init__(self, channels: int, hidden: int, classes: int, *, norm: str) -> None:
        super().__init__()
        self.bases = nn.ModuleList(Layer(hidden, hidden) for _ in range(channels))
        self.norm = norm_of(norm, channels * hidden)
        self.head = Layer(channels * hidden, classes)

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        """Return scores, float32 (people, classes), of the cached rows of each hop."""
        joined = torch.cat([base(rows) for base, rows in zip(self.bases, inputs, strict=True)], dim=1)
        return cast(Tensor, self.head(functional.selu(self.norm(functional.normalize(joined, dim=1)))))


class Progressive(nn.Module):
    """Network of ProGAP: a base and a head for each stage; stage i reads the cached rows of hops 0 to i.

    Args:
        stages: Number of hops + 1.
        others: As of the other networks.
    """

    def __init__(self, features: int, hidden: int, classes: int, *, stages: int, norm: str) -> None:
        super().__init__()
        self.bases = nn.ModuleList(
            selu_perceptron([hidden if stage else features, hidden], norm=norm, plain=False) for stage in range(stages)
        )
        self.heads = nn.ModuleList(Layer(hidden * (stage + 1), classes) for stage in range(stages))
        self.stage = 0

    def of_stage(self) -> list[nn.Parameter]:
        """Return the weights that the present stage trains: all bases so far, and its head."""
        parts = [*self.bases[: self.stage + 1], self.heads[self.stage]]
        return [weight for part in parts for weight in part.parameters()]

    def own_rows(self, inputs: Sequence[Tensor | Constant]) -> Tensor:
        """Return what the present stage's base makes of its own hop, float32 (people, hidden)."""
        return cast(Tensor, self.bases[self.stage](inputs[self.stage]))

    def forward(self, inputs: Sequence[Tensor | Constant]) -> Tensor:
        """Return the scores of the present stage, float32 (people, classes)."""
        pairs = zip(self.bases[: self.stage + 1], inputs, strict=True)
        joined = torch.cat([base(rows) for base, rows in pairs], dim=1)
        return cast(Tensor, self.heads[self.stage](functional.normalize(joined, dim=1)))


def made(make: Callable[[], _Network], generator: torch.Generator) -> _Network:
    """Return a network whose layers are drawn from the generator, in the order of PyTorch's linear layer."""
    with torch.random.fork_rng(devices=[]):  # the weights that a layer draws itself are not used
        network = make()
    for layer in network.modules():
        if isinstance(layer, Layer):
            inputs, outputs = layer.weight.shape
            bound = max(1, inputs) ** -0.5
            assert layer.bias is not None
            for weight, shape in ((layer.weight.data.T, (outputs, inputs)), (layer.bias.data, (outputs,))):
                weight.copy_(torch.empty(shape).uniform_(-bound, bound, generator=generator))
    return network
