"""Training of :mod:`.sage` for many networks of one size at once: batched products for a GPU.

The numbers of a network do not depend on the others in the stack, up to the order in which a
library adds. With fixed stacks the same device gives the same bytes. On a CPU stacking is no
faster; it runs there for the tests.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ldpsim.curator.owner.teachers.graph import Piece
from ldpsim.curator.owner.teachers.randomness import Masks
from ldpsim.curator.owner.teachers.sage import SageSettings, fused_adam
from ldpsim.curator.owner.teachers.weights import EPS, MOMENTUM, Layout, TeacherWeights
from ldpsim.curator.setting_error import SettingError


def train_stacked(
    pieces: Sequence[Piece], starts: Sequence[Tensor], layout: Layout, masks: Sequence[Masks], settings: SageSettings,
    *, device: torch.device,
) -> list[TeacherWeights]:  # fmt: skip
    """Train one network on each piece.

    Args:
        pieces: Subgraphs, all with the same number of nodes.
        starts, masks: As for :func:`~ldpsim.curator.owner.teachers.sage.train_sage`, one a piece.
        layout, settings: Of all networks; the basis must be ``given``.
        device: Device of the training; the networks are returned on the CPU.

    Raises:
        ValueError: for pieces of different sizes, or a rotated basis.
    """
    n, h, c = len(pieces[0]), layout.h, layout.c
    if any(len(piece) != n for piece in pieces):
        raise ValueError("a stack holds pieces of one size")
    if settings.basis != "given":
        raise SettingError("basis=rotated", "trained one at a time on a CPU only (--device cpu)")
    vector = torch.stack(list(starts)).to(device)
    features, means, spread, target, weight = (part.to(device) for part in _constants(pieces, c))
    bits = torch.from_numpy(np.stack([mask.drawn for mask in masks])).to(device)
    keep = _Keep(bits, masks[0], vector.dtype)
    gradient = torch.zeros_like(vector)
    weights, slopes = layout.parts(vector), layout.parts(gradient)
    moments = torch.zeros_like(vector), torch.zeros_like(vector), torch.zeros((), device=device)
    running_mean, running_variance = vector.new_zeros(len(pieces), 1, h), vector.new_ones(len(pieces), 1, h)
    upward = vector.new_empty(len(pieces), n, 2 * c)
    with torch.no_grad():
        for epoch in range(settings.epochs):
            summed = torch.baddbmm(torch.bmm(features, weights["own1"]), means, weights["near1"])
            centre = summed.mean(1, keepdim=True)
            centred = summed - centre
            variance = centred.square().mean(1, keepdim=True)
            inverse = torch.rsqrt(variance + EPS)
            running_mean.lerp_(centre, MOMENTUM)
            running_variance.lerp_(variance * (n / (n - 1)), MOMENTUM)
            unit = centred.mul_(inverse)
            scale = weights["scale"][:, None]
            normed = unit * scale + weights["shift"][:, None]
            gate = keep.epoch(epoch).mul_(normed > 0)
            hidden = normed.mul_(gate)
            both = torch.bmm(hidden, weights["second"])
            scores = torch.baddbmm(both[..., c:] + weights["bias"][:, None], spread, both[..., :c])
            error = torch.softmax(scores, 2).sub_(target).mul_(weight)
            upward[..., c:] = error
            upward[..., :c] = torch.bmm(spread.mT, error)
            slopes["bias"].copy_(error.sum(1))
            slopes["second"].copy_(torch.bmm(hidden.mT, upward))
            downward = torch.bmm(upward, weights["second"].mT).mul_(gate)
            slope_shift, slope_scale = downward.sum(1, keepdim=True), (downward * unit).sum(1, keepdim=True)
            slopes["shift"].copy_(slope_shift[:, 0])
            slopes["scale"].copy_(slope_scale[:, 0])
            step = downward.sub_(slope_shift / n).sub_(unit * (slope_scale / n)).mul_(scale * inverse)
            slopes["own1"].copy_(torch.bmm(features.mT, step))
            slopes["near1"].copy_(torch.bmm(means.mT, step))
            fused_adam(vector, gradient, moments, settings)
    vector, found_mean, found_variance = vector.cpu(), running_mean[:, 0].cpu(), running_variance[:, 0].cpu()
    return [TeacherWeights(layout, vector[at], found_mean[at], found_variance[at]) for at in range(len(pieces))]


def _constants(pieces: Sequence[Piece], c: int) -> list[Tensor]:
    n, d = pieces[0].features.shape
    count, dtype = len(pieces), pieces[0].features.dtype
    means, spread = np.zeros((count, n, d), dtype), np.zeros((count, n, n), dtype)
    target, weight = np.zeros((count, n, c), dtype), np.zeros((count, n, 1), dtype)
    for at, piece in enumerate(pieces):
        means[at, : len(piece.means)] = piece.means
        spread[at, piece.target, piece.source] = piece.share
        known = np.flatnonzero(piece.labels >= 0)
        target[at, known, piece.labels[known]] = 1
        weight[at, known] = 1 / len(known)
    features = np.stack([piece.features for piece in pieces])
    return [torch.from_numpy(array) for array in (features, means, spread, target, weight)]


class _Keep:
    """:class:`Masks` of a stack, unpacked on the training's device."""

    def __init__(self, drawn: Tensor, like: Masks, dtype: torch.dtype) -> None:
        self.drawn, self.rows, self.units, self.like, self.dtype = drawn, like.rows, like.units, like, dtype
        self.shifts = torch.arange(7, -1, -1, dtype=torch.uint8, device=drawn.device)

    def epoch(self, number: int) -> Tensor:
        count, like, size, dtype = len(self.drawn), self.like, self.rows * self.units, self.dtype
        if like.limit == 256:
            return torch.ones(count, self.rows, self.units, dtype=dtype, device=self.drawn.device)
        raw = self.drawn[:, number, : like.bytes_an_epoch]
        if like.limit == 128:
            kept = (raw[..., None] >> self.shifts).bitwise_and_(1).reshape(count, -1)[:, :size]
        else:
            kept = raw < like.limit
        return kept.reshape(count, self.rows, self.units).to(dtype).div_(like.keep)
