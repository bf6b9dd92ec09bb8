"""Attention over all pairs is its formula, values and gradients, however many blocks of rows there are."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ldpsim.curator.learning import networks as pair_attention
from ldpsim.curator.learning.networks import SLOPE, attend

N, K = 30, 4


def _given(seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    made = torch.Generator().manual_seed(seed)
    weights = torch.rand(N, N, generator=made) * (torch.rand(N, N, generator=made) < 0.3)
    weights.fill_diagonal_(1.0)
    values, sources, targets = (torch.randn(*shape, generator=made) for shape in ((N, K), (N,), (N,)))
    return values, sources, targets, weights


def _literal(values: Tensor, sources: Tensor, targets: Tensor, weights: Tensor, twice: bool) -> Tensor:
    score = targets[:, None] + sources[None, :]
    strength = weights * torch.exp(torch.where(score > 0, score, SLOPE * score))
    share = strength / strength.sum(dim=1, keepdim=True)
    return (share * weights if twice else share) @ values


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("block", [1, 64, 7 * N, 2**18])
def test_values_and_gradients_are_those_of_the_formula(
    monkeypatch: pytest.MonkeyPatch, block: int, twice: bool
) -> None:
    monkeypatch.setattr(pair_attention, "_BLOCK", block)
    *given, weights = _given()
    ours = [part.clone().requires_grad_() for part in given]
    slow = [part.double().requires_grad_() for part in given]
    got, expected = attend(*ours, weights.log(), twice=twice), _literal(*slow, weights.double(), twice)
    torch.testing.assert_close(got.double(), expected, atol=1e-6, rtol=1e-6)
    towards = torch.randn(N, K, generator=torch.Generator().manual_seed(1))
    (got * towards).sum().backward()
    (expected * towards).sum().backward()
    for one, other in zip(ours, slow, strict=True):
        assert one.grad is not None and other.grad is not None
        torch.testing.assert_close(one.grad.double(), other.grad, atol=1e-5, rtol=1e-5)


def test_large_scores_stay_finite() -> None:
    values, sources, targets, weights = _given(seed=2)
    sources = (1000 * sources).requires_grad_()
    taken = attend(values, sources, targets, weights.log())
    taken.sum().backward()
    assert torch.isfinite(taken).all()
    assert sources.grad is not None and torch.isfinite(sources.grad).all()


def test_nothing_comes_along_where_there_is_no_edge() -> None:
    values, sources, targets, _ = _given()
    alone = torch.eye(N).log()
    torch.testing.assert_close(attend(values, sources, targets, alone), values)
