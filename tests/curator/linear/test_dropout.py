"""Dropout with a generator of its own: PyTorch's values, and its law."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from ldpsim.curator.linear.torch_matrix import Dropout


def draws_itself() -> bool:
    """Whether this PyTorch draws dropout by 64-bit uniform numbers, as it does on a CPU that is not Intel's."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        bits = torch.empty(1000).bernoulli_(0.5)
        torch.manual_seed(1)
        return torch.equal(bits, (torch.rand(1000, dtype=torch.float64) < 0.5).float())


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.75])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (3000, 16), (5, 1 << 14)])  # the last: more than is drawn at once
def test_two_passes_have_the_values_of_pytorch(share: float, shape: tuple[int, int]) -> None:
    if not draws_itself():
        pytest.skip("MKL draws here")
    values = torch.randn(shape, generator=torch.Generator().manual_seed(7))
    own = Dropout(share, torch.Generator().manual_seed(3))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        for _ in range(2):
            assert torch.equal(own(values), functional.dropout(values, share))


def test_entries_are_kept_at_the_share_and_gradients_follow_them() -> None:
    ones = torch.ones(1000, 100, requires_grad=True)
    dropped = Dropout(0.25, torch.Generator().manual_seed(5))(ones)
    kept = dropped > 0
    assert torch.equal(dropped, kept / 0.75)
    spread = math.sqrt(1e5 * 0.25 * 0.75)
    assert abs(int(kept.sum()) - 75_000) < 4.9 * spread  # 1e-6, two-sided
    dropped.sum().backward()  # type: ignore[no-untyped-call]
    assert torch.equal(ones.grad, kept / 0.75)
