from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from ldpsim.curator.learning import edge_weights
from ldpsim.curator.learning.edge_weights import Edges, Structure, proximal, train_with_edge_weights
from ldpsim.curator.learning.own_network import make_network
from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.linear.propagation import adjacency_matrix, kprop_matrix, mean_matrix
from ldpsim.curator.methods.base import Graph

CPU = torch.device("cpu")
N, CLASSES = 30, 2


def _graph(seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    labels = np.arange(N) % CLASSES
    dense = rng.random((N, N)) < np.where(labels[:, None] == labels, 0.3, 0.05)
    np.fill_diagonal(dense, False)
    target, source = np.nonzero(dense)  # directed
    features = (np.eye(CLASSES)[labels] + rng.normal(0, 0.7, (N, CLASSES))).astype(np.float32)
    known = np.where(np.arange(N) < 20, labels, -1).astype(np.int64)
    edges = np.stack([source, target]).astype(np.int64)
    return Graph(features, edges, None, known, np.arange(12), np.arange(12, 20))


def _structure(graph: Graph, **changed: float) -> Structure:
    values = {"lambda_1": 1e-3, "lambda_2": 1e-3, "rate": 0.05, "label_hops": 2, **changed}
    return Structure(smoother=mean_matrix(adjacency_matrix(N, graph.edge_index)), **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(("rate", "one", "two"), [(0.1, 0.3, 0.2), (1.0, 0.5, 2.0), (0.01, 0.0, 0.1), (0.5, 2.0, 0.0)])
def test_the_proximal_step_minimises_its_objective(rate: float, one: float, two: float) -> None:
    grid = np.linspace(0, 1, 200_001)
    for w in (-0.4, 0.0, 0.3, 0.9, 1.0, 1.4):
        objective = (grid - w) ** 2 / 2 + rate * (one * (1 - grid) ** 2 + two * grid)
        got = proximal(torch.tensor([w], dtype=torch.float64), rate=rate, lambda_1=one, lambda_2=two)
        assert float(got) == pytest.approx(grid[objective.argmin()], abs=1e-5)


def test_weights_follow_the_dense_matrix_of_eq_14_on_its_support() -> None:
    """The oracle: an n x n matrix by autograd, masked to the reported ones."""
    graph = _graph()
    support = torch.zeros(N, N)
    support[graph.edge_index[1], graph.edge_index[0]] = 1
    matrix = support.clone().requires_grad_()
    values = torch.randn(N, 5, generator=torch.Generator().manual_seed(0))
    aim = torch.randn(N, 5, generator=torch.Generator().manual_seed(1))
    for gnn, dense_of in (("sage", _dense_mean), ("gcn", _dense_gcn)):
        edges = Edges(graph.edge_index, N, gnn, CPU)
        matrix.data.copy_(support)
        for _ in range(5):
            torch.testing.assert_close(edges @ values, dense_of(matrix, values))
            (gradient,) = torch.autograd.grad(((edges @ values - aim) ** 2).mean(), edges.weight)
            (dense,) = torch.autograd.grad(((dense_of(matrix, values) - aim) ** 2).mean(), matrix)
            torch.testing.assert_close(gradient, dense[graph.edge_index[1], graph.edge_index[0]], rtol=1e-4, atol=1e-6)
            for weights, step, mask in ((edges.weight, gradient, 1.0), (matrix, dense, support)):
                moved = proximal(weights.detach() - 2.0 * step, rate=2.0, lambda_1=0.01, lambda_2=0.03)
                weights.data.copy_(moved * mask)
        assert float(edges.weight.detach().min()) < 0.95


def _dense_mean(matrix: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return (matrix @ values) / matrix.sum(dim=1, keepdim=True).clamp(min=1e-12)


def _dense_gcn(matrix: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    looped = matrix + torch.eye(N)
    root = looped.sum(dim=1).rsqrt()
    return (root[:, None] * looped * root) @ values


@pytest.mark.parametrize(("gnn", "loops"), [("gcn", True), ("sage", True), ("gat", True), ("gat", False)])
def test_with_every_weight_at_one_it_is_the_plain_network(gnn: str, loops: bool) -> None:
    graph = _graph()
    torch.manual_seed(0)
    plain = make_network(gnn, graph, hidden=4, classes=CLASSES, device=CPU, loops=loops)
    torch.manual_seed(0)
    edges = Edges(graph.edge_index, N, gnn, CPU)
    learned = make_network(gnn, graph, hidden=4, classes=CLASSES, device=CPU, loops=loops, edges=edges)
    torch.testing.assert_close(learned(), plain(), rtol=1e-4, atol=1e-5)
    assert set(learned.state_dict()) == {*plain.state_dict(), "spread.weight"}


def test_a_graph_without_an_edge_trains() -> None:
    graph = _graph()
    alone = Graph(graph.features, graph.edge_index[:, :0], None, graph.labels, graph.train, graph.val)
    empty = Structure(1e-3, 1e-3, 0.01, csr_array((N, N), dtype=np.float32), 2)
    for gnn in ("gcn", "sage", "gat"):
        trained = train_with_edge_weights(
            alone, structure=empty, settings=TrainingSettings(gnn=gnn, epochs=5), classes=CLASSES, seed=0, device="cpu"
        )
        assert len(trained.predictions) == N and not len(trained.model.state_dict()["spread.weight"])


Loss = Callable[[torch.Tensor], torch.Tensor]


def _loss_of(graph: Graph, structure: Structure, monkeypatch: pytest.MonkeyPatch) -> Loss:
    seen: dict[str, Loss] = {}
    monkeypatch.setattr(edge_weights, "fit", lambda make, graph, loss, *rest, **given: seen.update(loss=loss))
    train_with_edge_weights(graph, structure=structure, settings=TrainingSettings(), classes=CLASSES, seed=0,
                            device="cpu")  # fmt: skip
    return seen["loss"]


@pytest.mark.parametrize("smoother", [mean_matrix, kprop_matrix], ids=["mean", "symmetric"])
@pytest.mark.parametrize("hops", [0, 3])
def test_the_loss_is_that_of_smoothed_posteriors_of_sum_1(
    smoother: Callable[[csr_array], csr_array], hops: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eqs. 12 and 13 written out, on the training nodes, with the rows rescaled to the sum 1."""
    graph = _graph()
    lonely = np.isin(graph.edge_index[1], [0, 1])  # two training nodes that reported nobody
    graph = dataclasses.replace(graph, edge_index=graph.edge_index[:, ~lonely])
    matrix = smoother(adjacency_matrix(N, graph.edge_index))
    loss = _loss_of(graph, Structure(1e-3, 1e-3, 0.05, matrix, hops), monkeypatch)
    scores = torch.randn(N, CLASSES, generator=torch.Generator().manual_seed(2))
    posterior = torch.softmax(scores, dim=1).double().numpy()
    dense = matrix.toarray().astype(float)
    sums = []
    for _ in range(hops):
        spread = dense @ posterior
        posterior = np.where(dense.any(axis=1)[:, None], spread, posterior)
        sums.append(posterior.sum(axis=1))
    posterior /= posterior.sum(axis=1, keepdims=True)
    expected = -np.mean([np.log(posterior[node, graph.labels[node]]) for node in graph.train])
    assert float(loss(scores)) == pytest.approx(expected, rel=1e-5)
    if hops and smoother is kprop_matrix:
        assert np.abs(np.array(sums) - 1).max() > 0.2  # there is something to rescale


@pytest.mark.parametrize("hops", [0, 2])
def test_a_person_with_a_tiny_probability_has_a_gradient(hops: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network is sure of the wrong class everywhere; float32 holds no probability below 1e-45."""
    graph = _graph()
    for floor, wanted in ((0.0, 1.0), (1e-20, 0.0)):
        structure = dataclasses.replace(_structure(graph, label_hops=hops), floor=floor)
        loss = _loss_of(graph, structure, monkeypatch)
        sure = torch.zeros(N, CLASSES)
        sure[torch.arange(N), 1 - torch.from_numpy(np.arange(N) % CLASSES)] = 500.0
        if hops:
            sure = torch.tensor([[0.0, 500.0]]).repeat(N, 1)  # the neighbours' share of class 0 is tiny as well
        sure.requires_grad_()
        value = loss(sure)
        value.backward()
        assert torch.isfinite(sure.grad).all() and math.isfinite(float(value.detach()))
        if not hops:
            own = sure.grad[torch.arange(N), torch.arange(N) % CLASSES][:12]
            torch.testing.assert_close(own, torch.full((12,), -wanted / 12))
        else:  # six training people have class 0
            assert float(sure.grad[:, 0].sum()) == pytest.approx(-wanted * 6 / 12, abs=1e-5)


def test_with_smoothed_targets_the_loss_is_the_published_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A softmax of smoothed posteriors against the likeliest smoothed label of training and validation people."""
    graph = _graph()
    matrix = kprop_matrix(adjacency_matrix(N, graph.edge_index))
    loss = _loss_of(graph, Structure(1e-3, 1e-3, 0.0, matrix, 2, smoothed_targets=True), monkeypatch)
    dense = matrix.toarray().astype(float)
    labels = np.zeros((N, CLASSES))
    labels[np.arange(20), graph.labels[:20]] = 1
    target = (dense @ dense @ labels).argmax(axis=1)
    assert (target[:12] != graph.labels[:12]).any()
    scores = torch.randn(N, CLASSES, generator=torch.Generator().manual_seed(2))
    spread = dense @ dense @ torch.softmax(scores, dim=1).double().numpy()
    expected = -np.mean([spread[i, target[i]] - np.log(np.exp(spread[i]).sum()) for i in range(12)])
    assert float(loss(scores)) == pytest.approx(expected, rel=1e-5)
    alone = dataclasses.replace(graph, edge_index=graph.edge_index[:, :0])
    empty = Structure(1e-3, 1e-3, 0.0, csr_array((N, N), dtype=np.float32), 2, smoothed_targets=True)
    with pytest.raises(ValueError, match="no label reaches a training node over 2 hops"):
        _loss_of(alone, empty, monkeypatch)


def test_a_person_whose_edges_have_weight_0_moves_them_by_a_mean_of_1() -> None:
    edges = Edges(np.array([[1, 2], [0, 0]]), 3, "sage", CPU)
    with torch.no_grad():
        edges.weight.zero_()
    found = edges @ torch.tensor([[0.0], [2.0], [3.0]])
    found.sum().backward()
    assert not found.any() and edges.weight.grad is not None and edges.weight.grad.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("gnn", ["gcn", "sage", "gat"])
def test_a_person_whose_edges_have_weight_0_is_a_person_without_edges(gnn: str) -> None:
    graph = _graph()
    edges = Edges(graph.edge_index, N, gnn, CPU)
    network = make_network(gnn, graph, hidden=4, classes=CLASSES, device=CPU, loops=False, edges=edges)
    edges.weight.data.masked_fill_(torch.from_numpy(graph.edge_index[1] == 3), 0.0)
    assert network().isfinite().all()
