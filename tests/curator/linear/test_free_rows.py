"""Rows without features: HOA by hand, and products with W of a matrix that is never built."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ldpsim.curator.linear.factored import Factored
from ldpsim.curator.linear.free_rows import free_rows
from ldpsim.curator.linear.propagation import adjacency_matrix
from ldpsim.curator.linear.torch_matrix import Product

# The path 0 - 1 - 2, and 3 alone. S has 1/sqrt(2) between neighbours.
ADJACENCY = adjacency_matrix(4, np.array([[0, 1, 1, 2], [1, 0, 2, 1]]))
ROOT = 1 / np.sqrt(2)
ONE = np.array([[0, ROOT, 0, 0], [ROOT, 0, ROOT, 0], [0, ROOT, 0, 0], [0, 0, 0, 0]])
TWO = np.array([[0.5, 0, 0.5, 0], [0, 1, 0, 0], [0.5, 0, 0.5, 0], [0, 0, 0, 0]])
BY_HAND = {("hoa", 1): ONE, ("hoa", 2): (ONE + TWO) / 2, ("hoa", 3): (ONE + TWO + ONE) / 3, ("kprop", 2): TWO,
           ("hoa", 0): np.eye(4), ("kprop", 0): np.eye(4)}  # fmt: skip


@pytest.mark.parametrize(("smoother", "hops"), BY_HAND)
def test_free_rows_are_p_by_hand_and_p_is_never_built(smoother: str, hops: int) -> None:
    expected = BY_HAND[smoother, hops]
    found = free_rows(ADJACENCY, "identity", smoother, hops, width=0, seed=0)
    assert isinstance(found, Factored) and found.shape == (4, 4)
    assert found.base.nnz == 4 and all(step.nnz <= 3 * 4 for step in found.steps)  # the identity, and edges alone
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-6)
    weights = torch.arange(8.0).view(4, 2).requires_grad_()
    product = Product(found, torch.device("cpu")) @ weights
    np.testing.assert_allclose(product.detach().numpy(), expected @ weights.detach().numpy(), atol=1e-5)
    product[:, 0].sum().backward()
    np.testing.assert_allclose(weights.grad[:, 0].numpy(), expected.sum(axis=0), atol=1e-6)


@pytest.mark.parametrize(("smoother", "hops"), BY_HAND)
def test_random_rows_are_smoothed_once_and_are_those_of_the_seed(smoother: str, hops: int) -> None:
    first = free_rows(ADJACENCY, "random", smoother, 0, width=5, seed=1)
    found, again, other = (free_rows(ADJACENCY, "random", smoother, hops, width=5, seed=seed) for seed in (1, 1, 2))
    assert found.dtype == np.float32 and found.shape == (4, 5)
    np.testing.assert_allclose(found, BY_HAND[smoother, hops] @ first, atol=1e-5)
    assert np.array_equal(found, again) and not np.array_equal(found, other)
    many = free_rows(ADJACENCY, "random", "hoa", 0, width=20_000, seed=1)
    assert abs(many.mean()) < 0.02 and abs(many.std() - 1) < 0.02
