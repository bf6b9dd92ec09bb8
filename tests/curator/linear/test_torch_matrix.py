"""Constant matrices, factors, packed bits and dropout: the values and gradients of dense ones."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch.nn import functional

from ldpsim.curator.graph import Graph
from ldpsim.curator.learning.networks import NETWORKS, Network
from ldpsim.curator.linear import bit_matrix
from ldpsim.curator.linear.bit_matrix import BitMatrix
from ldpsim.curator.linear.dropout import Dropout
from ldpsim.curator.linear.factored import Factored, product_of, product_with_middle
from ldpsim.curator.linear.packed_bits import PackedBits
from ldpsim.curator.linear.propagation import adjacency_matrix, kprop_matrix, mean_matrix, propagate
from ldpsim.curator.linear.scaling import standardise
from ldpsim.curator.linear.torch_matrix import Constant, constant

CPU = torch.device("cpu")


N, HIDDEN, CLASSES = 400, 16, 5


def _graph() -> Graph:
    rng = np.random.default_rng(0)
    ends = rng.integers(0, N, (2, 900))
    return Graph(rng.standard_normal((N, 7)).astype(np.float32), np.concatenate([ends, ends[::-1]], axis=1), None,
                 rng.integers(0, CLASSES, N), np.arange(200), np.arange(200, 300))  # fmt: skip


@pytest.mark.parametrize("rising", [True, False])
@pytest.mark.parametrize("kind", NETWORKS.values())
def test_scores_and_gradients_of_some_nodes_are_those_of_all(kind: type[Network], rising: bool) -> None:
    torch.manual_seed(1)
    model = kind(_graph(), hidden=HIDDEN, classes=CLASSES, device=CPU)
    nodes = torch.randperm(N)[: N // 2]
    nodes = nodes.sort().values if rising else nodes
    start, factor = torch.randn(N, HIDDEN), torch.randn(N // 2, CLASSES)

    def found(few: bool) -> list[torch.Tensor]:
        hidden = start.clone().requires_grad_()
        scores = model.output_of(nodes)(hidden) if few else model.output(hidden).index_select(0, nodes)
        (scores * factor).sum().backward()  # type: ignore[no-untyped-call]
        gradients = [part.grad for part in (hidden, *model.parameters()) if part.grad is not None]
        for parameter in model.parameters():
            parameter.grad = None
        return [scores.detach(), *gradients]

    few, every = found(True), found(False)
    assert len(few) == len(every) > 2 and all(map(torch.equal, few, every))


@pytest.mark.parametrize("shape", [(1, 1, 1), (60, 50, 16), (1500, 333, 5), (3000, 600, 16)])
def test_a_dense_product_has_the_bytes_of_the_plain_one_and_its_gradient(shape: tuple[int, int, int]) -> None:
    n, d, k = shape
    matrix, right, factor = torch.randn(n, d), torch.randn(d, k, requires_grad=True), torch.randn(n, k)
    product = Constant(matrix.numpy(), CPU) @ right
    (product * factor).sum().backward()  # type: ignore[no-untyped-call]
    assert right.grad is not None
    assert torch.equal(product, matrix @ right)
    torch.testing.assert_close(right.grad, matrix.t() @ factor, rtol=1e-5, atol=1e-4)  # some processors add otherwise


def test_rows_of_a_sparse_matrix_are_sparse_and_of_a_dense_one_none() -> None:
    full = np.zeros((10, 3), np.float32)
    full[0] = 1
    assert not Constant(csr_array(full + 1), CPU).rows(torch.tensor([0])) and Constant(csr_array(full), CPU).sparse
    row = Constant(csr_array(full), CPU).rows(torch.tensor([0]))
    assert row is not None and row.matrix.shape == (1, 3)
    values = torch.ones(3, 2, requires_grad=True)
    product = row @ values
    assert product.tolist() == [[3.0, 3.0]]
    product.sum().backward()  # type: ignore[no-untyped-call]
    assert values.grad is not None and values.grad.tolist() == [[1.0, 1.0]] * 3


N_OF_FACTORED, D, HOPS = 40, 300, 3


@pytest.fixture
def graph() -> tuple[csr_array, np.ndarray, csr_array]:
    """A path with an isolated node at its end, its edges, and reports of 2 of D features each."""
    rng = np.random.default_rng(0)
    path = np.stack([np.arange(N_OF_FACTORED - 2), np.arange(1, N_OF_FACTORED - 1)])
    edges = np.concatenate([path, path[::-1]], axis=1)
    signs = np.zeros((N_OF_FACTORED, D), np.int8)
    for row in signs:
        row[rng.choice(D, 2, replace=False)] = rng.choice([-1, 1], 2)
    signs[:, 7] = 0  # nobody sampled it
    return kprop_matrix(adjacency_matrix(N_OF_FACTORED, edges)), edges, csr_array(signs)


def _both(graph: tuple[csr_array, np.ndarray, csr_array]) -> tuple[Factored, np.ndarray]:
    matrix, _, signs = graph
    product = product_with_middle(signs * np.float32(30), 0.5, matrix, HOPS)
    wanted = np.linalg.matrix_power(matrix.toarray().astype(np.float64), HOPS) @ (30.0 * signs.toarray() + 0.5)
    return product, wanted


def test_it_is_what_it_would_be_multiplied_out(graph: tuple[csr_array, np.ndarray, csr_array]) -> None:
    product, wanted = _both(graph)
    assert product.shape == wanted.shape
    np.testing.assert_allclose(product[:, 100:250], wanted[:, 100:250], rtol=1e-4, atol=1e-4)
    weights = torch.randn(D, 4, requires_grad=True)
    got = constant(product, CPU) @ weights
    np.testing.assert_allclose(got.detach(), wanted @ weights.detach().numpy(), rtol=1e-3, atol=1e-2)
    ahead = torch.randn(N_OF_FACTORED, 4)
    (gradient,) = torch.autograd.grad(got, weights, ahead)
    np.testing.assert_allclose(gradient, wanted.T @ ahead.numpy(), rtol=1e-3, atol=1e-2)
    mean = mean_matrix(adjacency_matrix(N_OF_FACTORED, graph[1]))
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
    right = torch.from_numpy(
        np.random.default_rng(1).standard_normal((N_OF_FACTORED, columns), np.float32)
    ).requires_grad_()
    product = matrix @ right
    product.backward(torch.ones_like(product))  # type: ignore[no-untyped-call]
    assert torch.equal(product, matrix.matrix @ right.detach())
    assert right.grad is not None and torch.equal(right.grad, matrix.transposed @ torch.ones_like(product))


N_OF_PACKED, CPU_OF_PACKED = 70, torch.device("cpu")


def _bits(d: int) -> tuple[PackedBits, np.ndarray]:
    rng = np.random.default_rng(d)
    dense = rng.random((N_OF_PACKED, d)) < 0.4
    factor = rng.normal(size=d).astype(np.float32)
    return PackedBits(np.packbits(dense, axis=1), factor), dense * factor


@pytest.mark.parametrize("d", [1, 8, 37, 300])
@pytest.mark.parametrize("at_once", [1, 1000, 1 << 22])
def test_a_product_and_its_gradient_are_the_dense_ones(d: int, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("_BITS_AT_ONCE", "_ROWS_AT_ONCE", "_MOST_BYTES"):
        monkeypatch.setattr(bit_matrix, limit, at_once)
    packed, dense = _bits(d)
    values = torch.randn(d, 5, generator=torch.Generator().manual_seed(0))
    found, wanted = [], []
    for matrix, into in (
        (BitMatrix(packed, CPU_OF_PACKED), found),
        (Constant(dense.astype(np.float32), CPU_OF_PACKED), wanted),
    ):
        right = values.clone().requires_grad_()
        product = matrix @ right
        (product**2).sum().backward()  # type: ignore[no-untyped-call]
        into += [product.detach().numpy(), right.grad.numpy()]  # type: ignore[union-attr]
    # Each summand is off by half a unit of 2^-20 of the largest factor; as much again for the sums of float32.
    (product, gradient), (exact, exact_gradient) = found, wanted
    off = d * float(abs(packed.factor[:, None] * values.numpy()).max()) / (1 << 20)
    np.testing.assert_allclose(product, exact, rtol=0, atol=off)
    off_gradient = N_OF_PACKED * (2 * off + abs(2 * exact).max() / (1 << 20))
    np.testing.assert_allclose(gradient, exact_gradient, rtol=0, atol=off_gradient * abs(packed.factor).max())


@pytest.mark.parametrize("silent", [0, 9])
def test_a_standardised_product_of_bits_is_the_dense_one(silent: int) -> None:
    packed, dense = _bits(37)
    rng = np.random.default_rng(0)
    matrix = csr_array((rng.random((N_OF_PACKED, N_OF_PACKED)) < 0.1) / 10).astype(np.float32)
    counted = np.arange(N_OF_PACKED) >= silent
    product, mean, deviation = product_of(packed, matrix, 2).standardised(counted)
    wanted = matrix @ (matrix @ dense)
    np.testing.assert_allclose(mean, wanted[counted].mean(axis=0), atol=1e-5)
    wanted = (wanted - wanted[counted].mean(axis=0)) / wanted[counted].std(axis=0)
    wanted[~counted] = 0
    np.testing.assert_allclose(np.asarray(product), wanted, atol=1e-4)
    values = torch.randn(37, 4, generator=torch.Generator().manual_seed(1))
    np.testing.assert_allclose(constant(product, CPU_OF_PACKED) @ values, wanted @ values.numpy(), atol=1e-3)
    assert deviation.shape == mean.shape == (37,)


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
