"""Weights of the two-layer GraphSAGE as one vector, so that an optimiser steps them in one call.

    h_v = dropout(relu(batchnorm(mean_{u in N(v)} x_u  W1n + x_v W1o)))
    y_v = mean_{u in N(v)} h_u  W2n + h_v W2o + b

(Hamilton et al. 2017, in the form of PyTorch Geometric's ``SAGEConv``. The first layer has no
bias, as the batch norm after it would remove it.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

# Batch norm: PyTorch's defaults. MOMENTUM is the share of a new batch in the running averages.
EPS = 1e-5
MOMENTUM = 0.1


@dataclass(frozen=True)
class Layout:
    """Layout of the vector for ``d`` features, ``h`` hidden units and ``c`` classes.

    Parts: ``near1``, ``own1`` (d, h); ``second`` (h, 2c): W2n beside W2o; ``bias`` (c,);
    ``scale``, ``shift`` (h,).

    >>> Layout(d=10, h=4, c=3).size
    115
    """

    d: int
    h: int
    c: int

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Part -> shape, in the vector's order."""
        d, h, c = self.d, self.h, self.c
        return {"near1": (d, h), "own1": (d, h), "second": (h, 2 * c), "bias": (c,), "scale": (h,), "shift": (h,)}

    @cached_property
    def size(self) -> int:
        """Length of the vector."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    def parts(self, vector: Tensor) -> dict[str, Tensor]:
        """Return views of a (size,) vector, or of a (teachers, size) stack of them."""
        found, at = {}, 0
        for name, shape in self.shapes.items():
            length = math.prod(shape)
            found[name] = vector[..., at : at + length].view(*vector.shape[:-1], *shape)
            at += length
        return found

    def draw(self, generator: torch.Generator, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return fresh weights: uniform in ± 1 / sqrt(inputs), batch norm 1 and 0 (PyG's initialisation).

        Always drawn in float32 on the CPU, so that the start is the same on every device.
        """
        vector = torch.empty(self.size)
        parts = self.parts(vector)
        for name, inputs in (("near1", self.d), ("own1", self.d), ("second", self.h), ("bias", self.h)):
            bound = 1 / math.sqrt(max(1, inputs))
            parts[name].copy_(torch.empty(parts[name].shape).uniform_(-bound, bound, generator=generator))
        parts["scale"].fill_(1)
        parts["shift"].zero_()
        return vector.to(dtype)


@dataclass(frozen=True, eq=False)
class TeacherWeights:
    """Weights of a trained network.

    Args:
        layout: Sizes.
        vector: Weights.
        mean, variance: (h,), batch norm's running averages, for inference.
    """

    layout: Layout
    vector: Tensor
    mean: Tensor
    variance: Tensor

    def hidden(self, features: Tensor, means: Tensor) -> Tensor:
        """(rows, h): the first layer without dropout, of nodes with (rows, d) features and neighbour means."""
        parts = self.layout.parts(self.vector)
        summed = features @ parts["own1"] + means @ parts["near1"]
        factor = parts["scale"] / torch.sqrt(self.variance + EPS)
        return torch.relu((summed - self.mean) * factor + parts["shift"])

    def scores(self, own: Tensor, means: Tensor) -> Tensor:
        """(rows, c): the second layer, from hidden rows and the neighbours' mean hidden rows."""
        parts, c = self.layout.parts(self.vector), self.layout.c
        return own @ parts["second"][:, c:] + means @ parts["second"][:, :c] + parts["bias"]
