from __future__ import annotations

import numpy as np
import pytest
import torch

from ldpsim.curator.learning.training import Adam


@pytest.mark.parametrize("weight_decay", [0.0, 0.01])
def test_adam_takes_torchs_steps(weight_decay: float) -> None:
    torch.manual_seed(0)
    start = torch.randn(30, 7)
    ours, theirs = (torch.nn.Parameter(start.clone()) for _ in range(2))
    one = Adam([ours], lr=0.03, weight_decay=weight_decay)
    two = torch.optim.Adam([theirs], lr=0.03, weight_decay=weight_decay)
    target = torch.randn(30, 7)
    for _ in range(50):
        for parameter in (ours, theirs):
            ((parameter - target) ** 4).sum().backward()
        one.step()
        two.step()
        two.zero_grad()
    np.testing.assert_allclose(ours.detach(), theirs.detach(), atol=1e-6)
    assert ours.grad is None


def test_a_parameter_without_a_gradient_stays_and_those_after_it_move() -> None:
    still, moved = (torch.nn.Parameter(torch.ones(3)) for _ in range(2))
    moved.grad = torch.ones(3)
    Adam([still, moved], lr=0.1, weight_decay=0.5).step()
    assert still.tolist() == [1, 1, 1] and (moved < 1).all()
