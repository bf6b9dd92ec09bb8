"""Features as a product of factors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from ldpsim.curator.linear.factored import Factored, of_reports
from ldpsim.curator.linear.propagation import adjacency_matrix, kprop_matrix, mean_matrix, propagate
from ldpsim.curator.linear.scaling import standardise
from ldpsim.curator.linear.torch_matrix import Constant, constant
from ldpsim.curator.reports.estimates import smoothed
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import MultiBit
from ldpsim.devices.query import Ask

N, D, HOPS = 40, 300, 3
CPU = torch.device("cpu")


@pytest.fixture
def graph() -> tuple[csr_array, np.ndarray, csr_array]:
    """A path with an isolated node at its end, its edges, and reports of 2 of D features each."""
    rng = np.random.default_rng(0)
    path = np.stack([np.arange(N - 2), np.arange(1, N - 1)])
    edges = np.concatenate([path, path[::-1]], axis=1)
    signs = np.zeros((N, D), np.int8)
    for row in signs:
        row[rng.choice(D, 2, replace=False)] = rng.choice([-1, 1], 2)
    signs[:, 7] = 0  # nobody sampled it
    return kprop_matrix(adjacency_matrix(N, edges)), edges, csr_array(signs)


def _both(graph: tuple[csr_array, np.ndarray, csr_array]) -> tuple[Factored, np.ndarray]:
    matrix, _, signs = graph
    product = of_reports(signs * np.float32(30), 0.5, matrix, HOPS)
    wanted = np.linalg.matrix_power(matrix.toarray().astype(np.float64), HOPS) @ (30.0 * signs.toarray() + 0.5)
    return product, wanted


def test_it_is_what_it_would_be_multiplied_out(graph: tuple[csr_array, np.ndarray, csr_array]) -> None:
    product, wanted = _both(graph)
    assert product.shape == wanted.shape
    np.testing.assert_allclose(product[:, 100:250], wanted[:, 100:250], rtol=1e-4, atol=1e-4)
    weights = torch.randn(D, 4, requires_grad=True)
    got = constant(product, CPU) @ weights
    np.testing.assert_allclose(got.detach(), wanted @ weights.detach().numpy(), rtol=1e-3, atol=1e-2)
    ahead = torch.randn(N, 4)
    (gradient,) = torch.autograd.grad(got, weights, ahead)
    np.testing.assert_allclose(gradient, wanted.T @ ahead.numpy(), rtol=1e-3, atol=1e-2)
    mean = mean_matrix(adjacency_matrix(N, graph[1]))
    further = propagate(mean, product)
    np.testing.assert_allclose(further[:, :], mean @ wanted, rtol=1e-4, atol=1e-4)
    with pytest.raises(IndexError):
        product[slice(0, 3), slice(0, 3)]


def test_standardising_is_that_of_the_dense_matrix(graph: tuple[csr_array, np.ndarray, csr_array]) -> None:
    product, wanted = _both(graph)
    dense = wanted.astype(np.float32)
    centre, scale = standardise(dense)
    got, mean, deviation = product.standardised()
    np.testing.assert_allclose(got[:, :], dense, atol=2e-3)
    np.testing.assert_allclose(mean, centre, atol=1e-3)
    np.testing.assert_allclose(deviation, scale, atol=1e-3)


def test_reports_stay_a_product_only_where_it_pays() -> None:
    rng = np.random.default_rng(1)
    edges = np.stack([np.arange(N - 1), np.arange(1, N)])
    matrix = kprop_matrix(adjacency_matrix(N, np.concatenate([edges, edges[::-1]], axis=1)))
    for width, silent, kept in ((D, False, True), (8, False, False), (D, True, False)):
        mechanism = MultiBit.from_epsilon(1.0, d=width, m=2)
        signs = np.zeros((N, width), np.int8)
        for row in signs:
            row[rng.choice(width, 2, replace=False)] = 1
        answered = np.ones(N, np.bool_)
        answered[3] = not silent
        signs[3] *= answered[3]
        reports = Reports(PublicFacts(N, width, 2), {"features": Ask("features", (mechanism,))},
                          {"features": np.ones(N, np.bool_)}, answered, {"features": csr_array(signs)})  # fmt: skip
        got = smoothed(reports, matrix, 1)
        assert isinstance(got, Factored) is kept
        wanted = matrix @ mechanism.estimate(signs.astype(np.float32))
        np.testing.assert_allclose(got[:, :], wanted, rtol=1e-3, atol=1e-3)


@pytest.fixture
def stale_memory() -> Iterator[None]:
    """Fresh memory of PyTorch holds NaN."""
    torch.use_deterministic_algorithms(True)
    assert torch.utils.deterministic.fill_uninitialized_memory
    assert torch.empty(3).isnan().all()
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("columns", [1, 5, 16, 33])
def test_a_sparse_product_has_pytorchs_own_bits_whatever_its_memory_held(
    graph: tuple[csr_array, np.ndarray, csr_array], columns: int, stale_memory: None
) -> None:
    """Rows without an entry are 0, forward and backward."""
    matrix = Constant(csr_array(graph[0][:-1]), CPU)  # not square: forward and backward have other shapes
    assert matrix.sparse and matrix.transposed is not None
    right = torch.from_numpy(np.random.default_rng(1).standard_normal((N, columns), np.float32)).requires_grad_()
    product = matrix @ right
    product.backward(torch.ones_like(product))  # type: ignore[no-untyped-call]
    assert torch.equal(product, matrix.matrix @ right.detach())
    assert right.grad is not None and torch.equal(right.grad, matrix.transposed @ torch.ones_like(product))
