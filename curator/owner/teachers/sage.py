"""Training of one GraphSAGE on one CPU thread, with a backward pass of its own.

A teacher sees 300 nodes and is trained in a second, so a framework's overhead around the
arithmetic is most of the cost. Here the first aggregation is a constant and is computed
once. Nodes without neighbours take no part in products about neighbours. Features that
no node has are left out (their weights have no gradient, so Adam never moves them). The
second layer aggregates c columns, not the h hidden ones. One fused Adam step moves all
weights. It is the same training as PyTorch Geometric's layers under autograd (tested in
float64), not an approximation.

``basis="rotated"`` trains on coordinates of the nodes' features in the orthonormal
basis of a QR decomposition, node by node: the first k nodes have coordinates in
its first k directions only, and so have the means of nodes whose neighbours are among
them. The network can represent the same functions, and plain gradient descent would take
the same steps. Adam scales each coordinate and takes other steps, so this is another training
with a name of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from scipy.sparse import csr_array
from torch import Tensor

from ldpsim.curator.owner.teachers.graph import Piece
from ldpsim.curator.owner.teachers.randomness import Masks
from ldpsim.curator.owner.teachers.weights import EPS, MOMENTUM, Layout, TeacherWeights
from ldpsim.curator.setting_error import SettingError

BASES = ("given", "rotated")
_BETA1, _BETA2, _TINY = 0.9, 0.999, 1e-8


@dataclass(frozen=True, kw_only=True)
class SageSettings:
    """Settings of a training; the defaults are the paper's.

    Raises:
        ValueError: for a setting outside its range.
    """

    hidden: int = 64
    lr: float = 0.01
    weight_decay: float = 0.0
    dropout: float = 0.5
    epochs: int = 500
    basis: str = "given"

    def __post_init__(self) -> None:
        if self.basis not in BASES:
            raise SettingError(f"basis={self.basis}", f"must be one of {', '.join(BASES)}")
        if self.hidden < 1 or self.epochs < 1 or not self.lr > 0 or self.weight_decay < 0:
            raise ValueError("hidden and epochs must be 1 or more, lr above 0, weight_decay 0 or more")
        if not 0 <= self.dropout < 1:
            raise SettingError(f"gnn_dropout={self.dropout}", "must lie in [0, 1)")


class _Rotation:
    """Orthonormal basis of the rows' span, for the weights' way there and back.

    Outside the span the weights keep their initial values.
    """

    def __init__(self, features: Tensor) -> None:
        self.basis, coordinates = torch.linalg.qr(features.T)
        self.features = coordinates.T.contiguous()

    def into(self, weights: Tensor) -> Tensor:
        return self.basis.T @ weights

    def back(self, weights: Tensor, start: Tensor) -> Tensor:
        return start + self.basis @ (weights - self.basis.T @ start)


def train_sage(piece: Piece, start: Tensor, layout: Layout, masks: Masks, settings: SageSettings) -> TeacherWeights:
    """Train full-batch with Adam on the negative log-likelihood of the labelled nodes; keep the last epoch.

    Args:
        piece: At least two nodes, one of them labelled.
        start: Initial weights, in the precision of the training.
        layout: Sizes of the network.
        masks: Dropout, in the piece's order of nodes.
        settings: Settings of the training.

    Raises:
        ValueError: for a piece of fewer than two nodes or without a label.
    """
    if len(piece) < 2 or not (piece.labels >= 0).any():
        raise ValueError("a network needs two nodes, one of them with a label")
    features, means = torch.from_numpy(piece.features), torch.from_numpy(piece.means)
    seen = features.any(0).nonzero().squeeze(1)
    full, inner = layout.parts(start), Layout(len(seen), layout.h, layout.c)
    rotation = None
    if len(seen) < layout.d:
        features, means = features[:, seen].contiguous(), means[:, seen].contiguous()
    if settings.basis == "rotated" and len(piece) < len(seen):
        rotation = _Rotation(features)
        means = _spread(piece.spread, rotation.features)
        features, inner = rotation.features, Layout(rotation.features.shape[1], layout.h, layout.c)
    vector = torch.empty(inner.size, dtype=start.dtype)
    parts = inner.parts(vector)
    for name, part in parts.items():
        given = full[name][seen] if name in ("near1", "own1") else full[name]
        part.copy_(rotation.into(given) if rotation and name in ("near1", "own1") else given)
    mean, variance = _fit(_Inputs(features, means, triangular=rotation is not None), piece, vector, inner, masks,
                          settings)  # fmt: skip
    result = start.clone()
    for name, part in layout.parts(result).items():
        if name in ("near1", "own1"):
            part[seen] = rotation.back(parts[name], full[name][seen]) if rotation else parts[name]
        else:
            part.copy_(parts[name])
    return TeacherWeights(layout, result, mean, variance)


def _spread(matrix: csr_array, dense: Tensor) -> Tensor:
    return torch.from_numpy(matrix @ dense.numpy())


_STRIPS = 8


class _Inputs:
    """The first layer's two products and their gradients, without the blocks that are zero."""

    def __init__(self, features: Tensor, means: Tensor, *, triangular: bool) -> None:
        n, self.linked = len(features), len(means)
        ends = [n * (at + 1) // _STRIPS for at in range(_STRIPS)] if triangular else [n]
        starts = [0, *ends[:-1]]
        self.strips = [
            (slice(low, high), high if triangular else features.shape[1])
            for low, high in zip(starts, ends, strict=True)
        ]
        self.own = [features[rows, :width] for rows, width in self.strips]
        self.reach = self.linked if triangular else means.shape[1]
        self.near = means[:, : self.reach]

    def forward(self, weights: dict[str, Tensor], out: Tensor) -> None:
        for (rows, width), block in zip(self.strips, self.own, strict=True):
            torch.mm(block, weights["own1"][:width], out=out[rows])
        out[: self.linked].addmm_(self.near, weights["near1"][: self.reach])

    def backward(self, step: Tensor, slopes: dict[str, Tensor]) -> None:
        last, *others = reversed(list(zip(self.strips, self.own, strict=True)))
        torch.mm(last[1].T, step[last[0][0]], out=slopes["own1"])
        for (rows, width), block in others:
            slopes["own1"][:width].addmm_(block.T, step[rows])
        torch.mm(self.near.T, step[: self.linked], out=slopes["near1"][: self.reach])


def _fit(
    inputs: _Inputs, piece: Piece, vector: Tensor, layout: Layout, masks: Masks, settings: SageSettings
) -> tuple[Tensor, Tensor]:
    n, linked, h, c = len(piece), len(piece.means), layout.h, layout.c
    gradient = torch.zeros_like(vector)
    weights, slopes = layout.parts(vector), layout.parts(gradient)
    moments = torch.zeros_like(vector), torch.zeros_like(vector), torch.zeros(())
    forth, back = piece.spread, csr_array(piece.spread.T)
    labels = torch.from_numpy(piece.labels)
    known = labels >= 0
    target = torch.zeros(n, c, dtype=vector.dtype)
    target[known, labels[known]] = 1
    weight = (known.to(vector.dtype) / known.sum())[:, None]
    mean, variance = torch.zeros(h, dtype=vector.dtype), torch.ones(h, dtype=vector.dtype)
    summed = torch.empty(n, h, dtype=vector.dtype)
    both = torch.empty(n, 2 * c, dtype=vector.dtype)
    upward = torch.empty(n, 2 * c, dtype=vector.dtype)
    near = both[:, :c]
    with torch.no_grad():
        for epoch in range(settings.epochs):
            inputs.forward(weights, summed)
            normed, centre, spread = torch.native_batch_norm(
                summed, weights["scale"], weights["shift"], mean, variance, True, MOMENTUM, EPS
            )
            gate = torch.from_numpy(masks.epoch(epoch)).logical_and_(normed > 0).to(vector.dtype).div_(masks.keep)
            hidden = normed * gate
            torch.mm(hidden, weights["second"], out=both)
            scores = both[:, c:] + weights["bias"]
            scores[:linked] += _spread(forth, near)
            error = scores.sub_(scores.amax(1, keepdim=True)).exp_()  # torch's softmax is slow on short rows
            error.div_(error.sum(1, keepdim=True)).sub_(target).mul_(weight)
            upward[:, c:] = error
            upward[:, :c] = _spread(back, error[:linked])
            torch.sum(error, 0, out=slopes["bias"])
            torch.mm(hidden.T, upward, out=slopes["second"])
            downward = torch.mm(upward, weights["second"].T).mul_(gate)
            step, slope_scale, slope_shift = torch.ops.aten.native_batch_norm_backward(
                downward, summed, weights["scale"], mean, variance, centre, spread, True, EPS, [True, True, True]
            )
            slopes["scale"].copy_(slope_scale)
            slopes["shift"].copy_(slope_shift)
            inputs.backward(step, slopes)
            fused_adam(vector, gradient, moments, settings)
    return mean, variance


def fused_adam(
    vector: Tensor, gradient: Tensor, moments: tuple[Tensor, Tensor, Tensor], settings: SageSettings
) -> None:
    """Take one step of Adam (Kingma and Ba 2015) in place; ``moments`` are the two means and the number of steps."""
    mean, square, steps = moments
    steps.add_(1)
    torch._fused_adam_(
        [vector], [gradient], [mean], [square], [], [steps], lr=settings.lr, beta1=_BETA1, beta2=_BETA2,
        weight_decay=settings.weight_decay, eps=_TINY, amsgrad=False, maximize=False,
    )  # fmt: skip
