"""Each network equals the dense formula, and PyG's layers with the same weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch_geometric.nn import GATConv, GCNConv, SAGEConv

from ldpsim.curator.learning import networks as gnn
from ldpsim.curator.learning.networks import HEADS, NETWORKS, make_network
from ldpsim.curator.linear.torch_matrix import Constant
from ldpsim.curator.methods import Graph

N, D, CLASSES, HIDDEN = 25, 40, 3, 16
CPU = torch.device("cpu")


def _graph(*, weighted: bool = False, sparse: bool = False, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((N, N)) < 0.15, 1)
    upper[3] = upper[:, 3] = False  # an isolated node
    left, right = np.nonzero(upper)
    weight = rng.random(len(left)).astype(np.float32) + 0.1
    features = (rng.random((N, D)) * (rng.random((N, D)) < (0.05 if sparse else 0.7))).astype(np.float32)
    edges = np.stack([np.r_[left, right], np.r_[right, left]])
    weights = np.r_[weight, weight] if weighted else None
    labels = rng.integers(0, CLASSES, N)
    kept: Any = csr_array(features) if sparse else features
    return Graph(kept, edges, weights, labels, np.arange(10), np.arange(10, 15))


def _dense(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    adjacency = np.zeros((N, N))
    adjacency[graph.edge_index[1], graph.edge_index[0]] = 1 if graph.edge_weight is None else graph.edge_weight
    features = graph.features
    return adjacency, np.asarray(features.toarray() if hasattr(features, "toarray") else features, float)


def _attend(values: np.ndarray, by_source: np.ndarray, by_target: np.ndarray, adjacency: np.ndarray) -> np.ndarray:
    heads = values.reshape(N, HEADS, -1)
    looped = adjacency + np.eye(N)
    result = np.zeros((N, heads.shape[2]))
    for i in range(N):
        for h in range(HEADS):
            others = np.flatnonzero(looped[i])
            score = heads[others, h] @ by_source[h] + heads[i, h] @ by_target[h]
            strength = looped[i, others] * np.exp(np.where(score > 0, score, 0.2 * score))
            result[i] += strength / strength.sum() @ heads[others, h] / HEADS
    return result


def _literal(name: str, graph: Graph, w: dict[str, np.ndarray]) -> np.ndarray:
    adjacency, x = _dense(graph)
    looped = adjacency + np.eye(N)
    root = np.diag(looped.sum(axis=1) ** -0.5)
    gcn = root @ looped @ root
    mean = adjacency / np.maximum(adjacency.sum(axis=1, keepdims=True), 1e-30)
    if name == "gcn":
        hidden = np.maximum(gcn @ x @ w["weight1"] + w["bias1"], 0)
        return gcn @ hidden @ w["weight2"] + w["bias2"]
    if name == "sage":
        hidden = np.maximum(mean @ x @ w["weight1"] + w["bias1"] + x @ w["own1"], 0)
        return mean @ hidden @ w["weight2"] + w["bias2"] + hidden @ w["own2"]
    if name == "gat":
        hidden = np.maximum(_attend(x @ w["weight1"], w["source1"], w["target1"], adjacency) + w["bias1"], 0)
        return _attend(hidden @ w["weight2"], w["source2"], w["target2"], adjacency) + w["bias2"]
    hidden = np.maximum(x @ w["weight1"] + w["bias1"], 0)
    return hidden @ w["weight2"] + w["bias2"]


@pytest.fixture(params=[0, 10**9], ids=["along edges", "over pairs"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """GAT with one of its two forms, whatever the graph."""
    monkeypatch.setattr(gnn, "CROWDED", request.param)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_its_dense_formula(name: str, sparse: bool, weighted: bool) -> None:
    graph = _graph(weighted=weighted, sparse=sparse)
    torch.manual_seed(0)
    network = make_network(name, graph, hidden=HIDDEN, classes=CLASSES, device=CPU)
    for parameter in network.parameters():
        torch.nn.init.uniform_(parameter, -0.5, 0.5)  # biases that count
    weights = {key: value.numpy().astype(float) for key, value in network.state_dict().items()}
    with torch.no_grad():
        got = network().numpy()
    np.testing.assert_allclose(got, _literal(name, graph, weights), atol=1e-5)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_those_of_a_float64_difference(name: str, sparse: bool) -> None:
    graph = _graph(weighted=True, sparse=sparse, seed=2)
    torch.manual_seed(1)
    network = make_network(name, graph, hidden=HIDDEN, classes=CLASSES, device=CPU)
    direction = np.random.default_rng(0).standard_normal((N, CLASSES))
    (network() * torch.from_numpy(direction).float()).sum().backward()
    state = {key: value.numpy().astype(float) for key, value in network.state_dict().items()}
    for key, parameter in network.named_parameters():
        flat = int(np.random.default_rng(3).integers(parameter.numel()))
        place = np.unravel_index(flat, parameter.shape)
        values = []
        for step in (1e-5, -1e-5):
            moved = {k: v.copy() for k, v in state.items()}
            moved[key][place] += step
            values.append((_literal(name, graph, moved) * direction).sum())
        assert parameter.grad is not None
        assert float(parameter.grad[place]) == pytest.approx((values[0] - values[1]) / 2e-5, abs=2e-3), key


def _pyg(name: str, width: int, out: int, weights: dict[str, torch.Tensor], layer: int, heads: int) -> torch.nn.Module:
    w, b = weights[f"weight{layer}"], weights[f"bias{layer}"]
    module: torch.nn.Module
    if name == "gcn":
        module = GCNConv(width, out)
        state = {"lin.weight": w.T, "bias": b}
    elif name == "sage":
        module = SAGEConv(width, out)
        state = {"lin_l.weight": w.T, "lin_l.bias": b, "lin_r.weight": weights[f"own{layer}"].T}
    else:
        module = GATConv(width, out, heads=heads, concat=False)
        state = {
            "lin.weight": w.T, "bias": b,
            "att_src": weights[f"source{layer}"][None], "att_dst": weights[f"target{layer}"][None],
        }  # fmt: skip
    module.load_state_dict(state)
    return module


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("name", "heads"), [("gcn", HEADS), ("sage", HEADS), ("gat", HEADS), ("gat", 1)])
def test_a_network_is_pygs_with_the_same_weights(name: str, heads: int) -> None:
    graph = _graph()
    torch.manual_seed(4)
    network = make_network(name, graph, hidden=HIDDEN, classes=CLASSES, device=CPU, heads=heads)
    weights = dict(network.state_dict())
    first, second = (_pyg(name, *sizes, weights, k, heads) for k, sizes in ((1, (D, HIDDEN)), (2, (HIDDEN, CLASSES))))
    edges, x = torch.from_numpy(graph.edge_index), torch.from_numpy(graph.features)
    with torch.no_grad():
        expected = second(torch.relu(first(x, edges)), edges)
        np.testing.assert_allclose(network().numpy(), expected.numpy(), atol=1e-5)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("loops", "twice"), [(False, False), (True, True), (False, True)])
def test_attention_without_a_node_itself_and_with_weights_twice(loops: bool, twice: bool) -> None:
    graph = _graph(weighted=True)  # node 3 has no neighbour
    torch.manual_seed(5)
    network = make_network("gat", graph, hidden=HIDDEN, classes=CLASSES, device=CPU, heads=1, loops=loops, twice=twice)
    assert isinstance(network, gnn.GAT)
    adjacency, x = _dense(graph)
    adjacency = adjacency + np.eye(N) * loops
    w = {key: value.numpy().astype(float) for key, value in network.state_dict().items()}
    values = x @ w["weight1"]
    score = (values @ w["target1"][0])[:, None] + values @ w["source1"][0]
    strength = adjacency * np.exp(np.where(score > 0, score, 0.2 * score))
    share = strength / np.maximum(strength.sum(axis=1, keepdims=True), 1e-30)
    share = share * adjacency if twice else share
    with torch.no_grad():
        np.testing.assert_allclose(network.pre_activation().numpy(), share @ values + w["bias1"], atol=1e-5)
    assert loops or not (share @ values)[3].any()
    network().sum().backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in network.parameters())


def test_only_a_crowded_graph_has_its_pairs_as_a_matrix() -> None:
    rng = np.random.default_rng(0)
    for edges, crowded in ((300, False), (500, True)):
        pairs = rng.permutation([(i, j) for i in range(100) for j in range(100) if i != j])[:edges].T
        graph = Graph(np.ones((100, 2), np.float32), pairs, None, np.arange(100), np.arange(100), np.arange(0))
        network = make_network("gat", graph, hidden=4, classes=3, device=CPU)
        assert isinstance(network, gnn.GAT)
        assert (network.pairs is not None) == crowded


def test_fresh_weights_have_glorots_range_and_biases_are_zero() -> None:
    torch.manual_seed(0)
    network = make_network("gcn", _graph(), hidden=HIDDEN, classes=CLASSES, device=CPU)
    fresh = {name: tensor.detach().numpy() for name, tensor in network.named_parameters()}
    for name, (rows, columns) in (("weight1", (D, HIDDEN)), ("weight2", (HIDDEN, CLASSES))):
        bound = np.sqrt(6 / (rows + columns))
        assert fresh[name].shape == (rows, columns) and 0.8 * bound < np.abs(fresh[name]).max() <= bound
    assert not fresh["bias1"].any() and not fresh["bias2"].any()


def test_large_features_are_not_copied_by_sage_and_its_scores_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, scores = _graph(), []
    for limit in (gnn.LARGE, graph.features.size - 1):
        monkeypatch.setattr(gnn, "LARGE", limit)
        torch.manual_seed(0)
        network = make_network("sage", graph, hidden=HIDDEN, classes=CLASSES, device=CPU)
        assert network.late is (limit < graph.features.size)
        scores.append(network().detach().numpy())
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-5)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_forgets_its_graph_and_keeps_its_weights(name: str) -> None:
    network = make_network(name, _graph(), hidden=HIDDEN, classes=CLASSES, device=CPU)
    before = {key: value.clone() for key, value in network.state_dict().items()}
    network.forget_graph()
    held = [value for value in vars(network).values() if isinstance(value, (torch.Tensor, Constant))]
    assert held == []
    assert all(torch.equal(before[key], value) for key, value in network.state_dict().items())


def test_a_graph_without_edges() -> None:
    graph = Graph(
        np.ones((3, 2), np.float32), np.zeros((2, 0), np.int64), None, np.arange(3), np.arange(3), np.arange(0)
    )
    for name in NETWORKS:
        network = make_network(name, graph, hidden=4, classes=3, device=CPU)
        assert torch.isfinite(network()).all()
