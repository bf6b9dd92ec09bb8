"""Clipped gradients against those of each person alone, steps under noise, and the networks. Covers layers too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from ldpsim.curator.owner.aggregation.layers import Alone, Classifier, Encoder, Progressive, made
from ldpsim.curator.owner.aggregation.training import Learners, PrivateSteps, clipped_sum, fit_in_place, scores

KINDS: dict[str, Any] = {
    "alone": lambda: (Alone(6, 4, 3, norm="none"), 1),
    "alone-group": lambda: (Alone(6, 4, 3, norm="group"), 1),
    "encoder": lambda: (Encoder(6, 4, 3, norm="none"), 1),
    "classifier": lambda: (Classifier(3, 6, 3, norm="none"), 3),
    "progressive": lambda: (staged(), 2),
}


def staged() -> Progressive:
    network = Progressive(6, 6, 3, stages=2, norm="group")
    network.stage = 1
    return network


def people(rows: int, channels: int) -> tuple[list[Tensor], Tensor]:
    draws = torch.Generator().manual_seed(3)
    given = [3 * torch.randn(rows, 6, generator=draws) for _ in range(channels)]
    return given, torch.arange(rows) % 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("clip", [0.3, 1e6])
def test_the_clipped_sum_is_that_of_each_person_alone(kind: str, clip: float) -> None:
    torch.manual_seed(1)
    network, channels = KINDS[kind]()
    rows, labels = people(9, channels)
    weights = list(network.of_stage() if kind == "progressive" else network.parameters())
    expected = [torch.zeros_like(weight) for weight in weights]
    norms = []
    for person in range(len(labels)):
        loss = functional.cross_entropy(network([each[person : person + 1] for each in rows]), labels[person][None])
        slopes = torch.autograd.grad(loss, weights)
        norms.append(math.sqrt(sum(float((slope**2).sum()) for slope in slopes)))
        for total, slope in zip(expected, slopes, strict=True):
            total += slope * min(1.0, clip / norms[-1])
    assert max(norms) > 0.3
    found = clipped_sum(network, rows, labels, weights, clip)
    assert all(torch.allclose(one, other, atol=1e-5) for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_one_person_moves_the_sum_by_the_clipping_norm_at_most(kind: str) -> None:
    torch.manual_seed(1)
    network, channels = KINDS[kind]()
    rows, labels = people(9, channels)
    rows[0][4] = math.inf  # and a gradient that overflows counts as none
    weights = list(network.of_stage() if kind == "progressive" else network.parameters())
    whole = clipped_sum(network, rows, labels, weights, 0.5)
    for person in range(len(labels)):
        rest = [number for number in range(len(labels)) if number != person]
        less = clipped_sum(network, [each[rest] for each in rows], labels[rest], weights, 0.5)
        moved = math.sqrt(sum(float(((one - other) ** 2).sum()) for one, other in zip(whole, less, strict=True)))
        assert moved <= 0.5 + 1e-5


def test_a_step_that_draws_nobody_has_noise_alone() -> None:
    network = Alone(6, 4, 3, norm="none")
    rows, labels = people(0, 1)
    assert not any(part.any() for part in clipped_sum(network, rows, labels, list(network.parameters()), 1.0))
    rows, labels = people(9, 1)
    learners = Learners(labels.numpy(), np.arange(9), np.zeros(0, np.int64))
    steps = PrivateSteps(3, 1e-9, 1.0, 1.0, np.random.default_rng(1))
    fit_in_place(network, rows, learners, weights=list(network.parameters()), lr=0.01, weight_decay=0.0, epochs=1,
                 private=steps)  # fmt: skip
    assert all(torch.isfinite(weight).all() for weight in network.parameters())


def test_noise_of_a_step_has_its_deviation(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Alone(400, 50, 3, norm="none")
    rows, labels = [torch.zeros(10, 400)], torch.zeros(10, dtype=torch.int64)
    seen: list[Tensor] = []

    def keep(self: Any) -> None:
        seen.extend(weight.grad.clone() for weight in self.parameters)

    monkeypatch.setattr("ldpsim.curator.owner.aggregation.training.Adam.step", keep)
    learners = Learners(labels.numpy(), np.arange(10), np.zeros(0, np.int64))
    fit_in_place(network, rows, learners, weights=list(network.parameters()), lr=0.01, weight_decay=0.0, epochs=1,
                 private=PrivateSteps(1, 0.5, 3.0, 2.0, np.random.default_rng(1)))  # fmt: skip
    first = seen[0].double()  # features of zeros: nothing but noise of 3 * 2 / (0.5 * 10)
    error = 5 / math.sqrt(2 * first.numel())
    assert float(first.std()) == pytest.approx(1.2, rel=error)


def test_the_best_epoch_or_the_last_one() -> None:
    draws = torch.Generator().manual_seed(1)
    rows = torch.randn(60, 6, generator=draws)
    labels = (rows[:, 0] > 0).long()
    learners = Learners(labels.numpy(), np.arange(40), np.arange(40, 60))
    found = {}
    for keep in ("last", "best"):
        network = made(lambda: Alone(6, 4, 2, norm="batch"), torch.Generator().manual_seed(5))
        fit_in_place(network, [rows], learners, weights=list(network.parameters()), lr=0.05, weight_decay=0.0,
                     epochs=60, keep=keep)  # fmt: skip
        right = scores(network, [rows[40:]]).argmax(1) == labels[40:]
        found[keep] = float(right.float().mean())
        assert not network.training
    assert found["best"] >= found["last"] > 0.7
