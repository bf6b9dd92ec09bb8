"""Each network is PyG's layers with the same weights, scores and gradients; attention is its dense formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch_geometric.nn import GATConv, GCNConv, SAGEConv

from ldpsim.curator.learning import networks as gnn
from ldpsim.curator.learning import networks as pair_attention
from ldpsim.curator.learning.networks import HEADS, NETWORKS, SLOPE, attend
from ldpsim.curator.learning.own_network import make_network
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


@pytest.fixture(params=[0, 10**9], ids=["along edges", "over pairs"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """GAT with one of its two forms, whatever the graph."""
    monkeypatch.setattr(gnn, "CROWDED", request.param)


def _pyg(name: str, widths: tuple[int, int], heads: int, state: dict[str, torch.Tensor]) -> torch.nn.Module:
    module: torch.nn.Module
    if name == "mlp":
        module = torch.nn.Linear(*widths)
    elif name == "gat":
        module = GATConv(*widths, heads=heads, concat=False)
    else:
        module = (GCNConv if name == "gcn" else SAGEConv)(*widths)
    module.load_state_dict(state)
    return module


# Our name of each parameter of PyG's, of layer k, and whether theirs is transposed or has one axis more.
PARAMETERS = {
    "mlp": {"weight": "weight", "bias": "bias"},
    "gcn": {"lin.weight": "weight", "bias": "bias"},
    "sage": {"lin_l.weight": "weight", "lin_l.bias": "bias", "lin_r.weight": "own"},
    "gat": {"lin.weight": "weight", "bias": "bias", "att_src": "source", "att_dst": "target"},
}


def _as_pyg(name: str, tensor: torch.Tensor) -> torch.Tensor:
    return tensor[None] if name.startswith("att") else tensor.T if name.endswith("weight") else tensor


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("name", "heads"), [("mlp", 1), ("gcn", 1), ("sage", 1), ("gat", HEADS), ("gat", 1)])
def test_scores_and_gradients_are_pygs_with_the_same_weights(name: str, heads: int, sparse: bool) -> None:
    graph = _graph(sparse=sparse, weighted=name == "gcn")
    torch.manual_seed(4)
    network = make_network(name, graph, hidden=HIDDEN, classes=CLASSES, device=CPU, heads=heads)
    for parameter in network.parameters():
        torch.nn.init.uniform_(parameter, -0.5, 0.5)  # biases that count
    ours = dict(network.named_parameters())
    layers = [
        _pyg(name, widths, heads, {theirs: _as_pyg(theirs, ours[f"{own}{k}"].detach()) for theirs, own in
                                   PARAMETERS[name].items()})
        for k, widths in ((1, (D, HIDDEN)), (2, (HIDDEN, CLASSES)))
    ]  # fmt: skip
    more: tuple[torch.Tensor, ...] = () if name == "mlp" else (torch.from_numpy(graph.edge_index),)
    if name == "gcn":
        more += (torch.from_numpy(graph.edge_weight),)
    expected = layers[1](torch.relu(layers[0](torch.from_numpy(_dense(graph)[1]).float(), *more)), *more)
    got, direction = network(), torch.randn(N, CLASSES)
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-4)
    for scores in (got, expected):
        (scores * direction).sum().backward()
    for k, layer in enumerate(layers, start=1):
        for theirs, own in PARAMETERS[name].items():
            gradient = ours[f"{own}{k}"].grad
            assert gradient is not None
            torch.testing.assert_close(
                _as_pyg(theirs, gradient), layer.get_parameter(theirs).grad, atol=1e-4, rtol=1e-3
            )


@pytest.mark.usefixtures("way")
def test_joined_heads_are_pygs_concatenation() -> None:
    graph = _graph()
    torch.manual_seed(4)
    network = make_network("gat", graph, hidden=HIDDEN, classes=CLASSES, device=CPU, joined=True)
    for parameter in network.parameters():
        torch.nn.init.uniform_(parameter, -0.5, 0.5)
    ours = dict(network.named_parameters())
    layers = [GATConv(D, HIDDEN, heads=HEADS, concat=True), GATConv(HEADS * HIDDEN, CLASSES, heads=1, concat=False)]
    for k, layer in enumerate(layers, start=1):
        layer.load_state_dict({theirs: _as_pyg(theirs, ours[f"{own}{k}"].detach())
                               for theirs, own in PARAMETERS["gat"].items()})  # fmt: skip
    edges, inputs = torch.from_numpy(graph.edge_index), torch.from_numpy(_dense(graph)[1]).float()
    expected = layers[1](torch.relu(layers[0](inputs, edges)), edges)
    torch.testing.assert_close(network(), expected, atol=1e-5, rtol=1e-4)


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


def test_a_graph_without_edges() -> None:
    graph = Graph(
        np.ones((3, 2), np.float32), np.zeros((2, 0), np.int64), None, np.arange(3), np.arange(3), np.arange(0)
    )
    for name in NETWORKS:
        network = make_network(name, graph, hidden=4, classes=3, device=CPU)
        assert torch.isfinite(network()).all()


N_OF_PAIR_ATTENTION, K = 30, 4


def _given(seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    made = torch.Generator().manual_seed(seed)
    weights = torch.rand(N_OF_PAIR_ATTENTION, N_OF_PAIR_ATTENTION, generator=made) * (
        torch.rand(N_OF_PAIR_ATTENTION, N_OF_PAIR_ATTENTION, generator=made) < 0.3
    )
    weights.fill_diagonal_(1.0)
    values, sources, targets = (
        torch.randn(*shape, generator=made)
        for shape in ((N_OF_PAIR_ATTENTION, K), (N_OF_PAIR_ATTENTION,), (N_OF_PAIR_ATTENTION,))
    )
    return values, sources, targets, weights


def _literal(values: Tensor, sources: Tensor, targets: Tensor, weights: Tensor, twice: bool) -> Tensor:
    score = targets[:, None] + sources[None, :]
    strength = weights * torch.exp(torch.where(score > 0, score, SLOPE * score))
    share = strength / strength.sum(dim=1, keepdim=True)
    return (share * weights if twice else share) @ values


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("block", [1, 64, 7 * N_OF_PAIR_ATTENTION, 2**18])
def test_values_and_gradients_are_those_of_the_formula(
    monkeypatch: pytest.MonkeyPatch, block: int, twice: bool
) -> None:
    monkeypatch.setattr(pair_attention, "_BLOCK", block)
    *given, weights = _given()
    ours = [part.clone().requires_grad_() for part in given]
    slow = [part.double().requires_grad_() for part in given]
    got, expected = attend(*ours, weights.log(), twice=twice), _literal(*slow, weights.double(), twice)
    torch.testing.assert_close(got.double(), expected, atol=1e-6, rtol=1e-6)
    towards = torch.randn(N_OF_PAIR_ATTENTION, K, generator=torch.Generator().manual_seed(1))
    (got * towards).sum().backward()
    (expected * towards).sum().backward()
    for one, other in zip(ours, slow, strict=True):
        assert one.grad is not None and other.grad is not None
        torch.testing.assert_close(one.grad.double(), other.grad, atol=1e-5, rtol=1e-5)
