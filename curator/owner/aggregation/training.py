"""Training of small networks: full batches, or steps on drawn people with clipped gradients under noise.

A private step draws each training person with probability q, clips each person's gradient to norm C, adds
N(0, s^2 C^2) to the sum and divides by the expected number of people. A step that draws nobody has noise alone. The
gradient of a person is never formed: each person passes each layer once, so its norm follows from the layer's input
and the gradient at its output, and the clipped sum is one product of matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ldpsim.curator.learning.loop import optimise
from ldpsim.curator.learning.perceptron import Layer
from ldpsim.curator.learning.training import share_of_hits
from ldpsim.curator.linear.torch_matrix import Constant
from ldpsim.curator.observer import log_metric
from ldpsim.curator.steps import track
from ldpsim.devices.array_types import IntArray


@dataclass(frozen=True)
class PrivateSteps:
    """Steps under noise.

    Args:
        steps: Number T of steps, 1 or more.
        rate: Probability q with which a step draws a person, in (0, 1].
        multiplier: Noise deviation s divided by the clipping norm; 0: no noise.
        clip: Largest norm C of a person's gradient, above 0.
        draws: Source of people and noise.
    """

    steps: int
    rate: float
    multiplier: float
    clip: float
    draws: np.random.Generator = field(repr=False)


@dataclass(frozen=True, eq=False)
class Learners:
    """People whose labels are learned from, and those on whom an epoch is chosen.

    Args:
        labels: int64 (n,).
        train, val: int64: people with a label.
    """

    labels: IntArray
    train: IntArray
    val: IntArray


def fit_in_place(
    network: nn.Module, inputs: Sequence[Any], people: Learners, *, weights: Sequence[Tensor], lr: float,
    weight_decay: float, epochs: int, keep: str = "last", private: PrivateSteps | None = None,
) -> None:  # fmt: skip
    """Train a network in place, and leave it in the mode of inference.

    Args:
        network: Called with rows of ``inputs``.
        inputs: float32 (n, ...) each, a tensor or scipy CSR.
        people: The people.
        weights: Those that are trained.
        lr, weight_decay: Of Adam.
        epochs: Number of steps on everybody; not read beside ``private``.
        keep: ``last``, or ``best``: the weights of the epoch with most validation people right, the first of equals.
        private: Steps under noise; None: full batches.
    """
    own, labels = [each[people.train] for each in inputs], torch.from_numpy(people.labels[people.train])
    rows = as_read(own) if private is None else []
    shown, truth = as_read([each[people.val] for each in inputs]), torch.from_numpy(people.labels[people.val])
    total, best = epochs if private is None else private.steps, [-1.0]

    def gradients() -> None:
        if private is None:
            functional.cross_entropy(network(rows), labels).backward()  # type: ignore[no-untyped-call]
        else:
            _private_gradients(network, own, labels, weights, private)

    def better(epoch: int) -> bool:
        accuracy = share_of_hits(scores(network, shown).argmax(1), truth)
        log_metric("val_accuracy", accuracy, epoch)
        best.append(max(accuracy, best[-1]))
        return best[-1] > best[-2]

    optimise(
        network, gradients, steps=track(range(1, total + 1), total), lr=lr, weight_decay=weight_decay, weights=weights,
        better=better if keep == "best" and len(truth) else None,
        epoch_steps=1 if private is None else max(1, int(1 / private.rate)),
    )  # fmt: skip


def as_read(inputs: Sequence[Any]) -> list[Tensor | Constant]:
    """Return what a network reads: tensors as they are, scipy matrices as constants."""
    return [each if isinstance(each, Tensor) else Constant(each, torch.device("cpu")) for each in inputs]


@torch.no_grad()
def scores(network: nn.Module, inputs: Sequence[Tensor | Constant]) -> Tensor:
    """Return the scores in the mode of inference, of what :func:`as_read` returns."""
    network.eval()
    output: Tensor = network(inputs)
    return output


def clipped_sum(
    network: nn.Module, rows: Sequence[Tensor], labels: Tensor, weights: Sequence[Tensor], clip: float
) -> list[Tensor]:
    """Return the sum over people of each person's gradient, clipped to norm ``clip``, for each of the weights.

    Args:
        network: Of linear layers and group normalisation, each of which a person passes once.
        rows: What the network reads, one row a person.
        labels: int64 (people,).
        weights: Weights of these layers.
        clip: Largest norm, over all of the weights.
    """
    if not len(labels):
        return [torch.zeros_like(weight) for weight in weights]
    passed: list[tuple[nn.Module, Tensor, Tensor]] = []

    def note(layer: nn.Module, inputs: tuple[Tensor, ...], out: Tensor) -> None:
        passed.append((layer, inputs[0].detach(), out))

    layers = [layer for layer in network.modules() if isinstance(layer, Layer | nn.GroupNorm)]
    hooks = [layer.register_forward_hook(note) for layer in layers]
    try:
        loss = functional.cross_entropy(network(rows), labels, reduction="sum")
    finally:
        for hook in hooks:
            hook.remove()
    at = torch.autograd.grad(loss, [out for _, _, out in passed])
    read = [inputs if isinstance(layer, Layer) else functional.group_norm(inputs, 1, eps=layer.eps)  # type: ignore[arg-type]
            for layer, inputs, _ in passed]  # fmt: skip
    squares = torch.zeros(len(labels))
    for (layer, _, _), inputs, slope in zip(passed, read, at, strict=True):
        own = slope.square().sum(1)
        product = inputs.square().sum(1) * own if isinstance(layer, Layer) else (inputs * slope).square().sum(1)
        squares += product + own
    factor = (clip / squares.sqrt().clamp_min(1e-30)).clamp_max(1.0)[:, None]
    finite = squares.isfinite()[:, None]  # a gradient that overflows has no direction: it counts as none
    sums: dict[int, Tensor] = {}
    for (layer, _, _), inputs, slope in zip(passed, read, at, strict=True):
        part, inputs = torch.where(finite, slope * factor, 0.0), torch.where(finite, inputs, 0.0)
        linear = isinstance(layer, Layer)
        sums[id(layer.weight)] = inputs.T @ part if linear else (part * inputs).sum(0)
        sums[id(layer.bias)] = part.sum(0)
    return [sums[id(weight)] for weight in weights]


def _private_gradients(
    network: nn.Module, own: Sequence[Any], labels: Tensor, weights: Sequence[Tensor], private: PrivateSteps
) -> None:
    """Set the gradients of one step under noise."""
    drawn = np.flatnonzero(private.draws.random(len(labels)) < private.rate)
    rows = [each[drawn] for each in own]
    dense = [each if isinstance(each, Tensor) else torch.from_numpy(each.toarray()) for each in rows]
    sums = clipped_sum(network, dense, labels[drawn], weights, private.clip)
    expected = private.rate * len(labels)
    for weight, total in zip(weights, sums, strict=True):
        noise = private.draws.standard_normal(weight.shape[::-1]).T.astype(np.float32)
        weight.grad = (total + private.multiplier * private.clip * torch.from_numpy(noise)) / expected
