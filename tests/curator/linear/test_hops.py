"""The mean over hops, in numpy and as a step of a product in torch."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import csr_array, random_array

from ldpsim.curator.linear.factored import MeanOfHops, of_reports
from ldpsim.curator.linear.torch_matrix import constant


def test_it_is_the_mean_of_the_powers_and_so_is_its_gradient() -> None:
    rng = np.random.default_rng(0)
    matrix = csr_array(random_array((30, 30), density=0.1, rng=rng, dtype=np.float32))
    rows = csr_array(random_array((30, 9), density=0.2, rng=rng, dtype=np.float32))
    dense = matrix.toarray().astype(np.float64)
    mean = sum(np.linalg.matrix_power(dense, k) for k in (1, 2, 3)) / 3
    product = of_reports(rows, 0.5, matrix, 0).propagated(MeanOfHops(matrix, 3))
    wanted = mean @ (rows.toarray() + 0.5)
    np.testing.assert_allclose(product, wanted, rtol=1e-4, atol=1e-5)
    weights = torch.randn(9, 2, requires_grad=True)
    found = constant(product, torch.device("cpu")) @ weights
    np.testing.assert_allclose(found.detach(), wanted @ weights.detach().numpy(), rtol=1e-3, atol=1e-4)
    (gradient,) = torch.autograd.grad(found, weights, torch.ones_like(found))
    np.testing.assert_allclose(gradient, wanted.T @ np.ones((30, 2)), rtol=1e-3, atol=1e-4)
    assert MeanOfHops(matrix, 3).nnz == 3 * matrix.nnz
