"""Each network is PyG's layers with the same weights, scores and gradients; attention is its dense formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch_geometric.nn import GATConv, GCNConv, SAGEConv

from ldpsim.curator.learning import dense_attention
from ldpsim.curator.learning import networks as gnn
from ldpsim.curator.learning.networks import HEADS, NETWORKS
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


@pytest.fixture(params=[(0, 1), (10**9, 1 << 18), (10**9, 1)], ids=["along edges", "over pairs", "row by row"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """GAT with one of its two forms, whatever the graph, and few rows of pairs at a time."""
    monkeypatch.setattr(gnn, "CROWDED", request.param[0])
    monkeypatch.setattr(dense_attention, "_BLOCK", request.param[1])


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
    if name == "mlp":  # its perceptron counts layers from 0
        ours = {f"{own.rpartition('.')[2]}{int(own.split('.')[2]) + 1}": part for own, part in ours.items()}
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
    adjacency, x = (torch.from_numpy(part) for part in _dense(graph))
    adjacency = adjacency + torch.eye(N) * loops
    w = {key: value.double().requires_grad_() for key, value in network.state_dict().items()}
    values = x @ w["weight1"]
    score = (values @ w["target1"][0])[:, None] + values @ w["source1"][0]
    strength = adjacency * torch.exp(torch.where(score > 0, score, 0.2 * score))
    share = strength / strength.sum(dim=1, keepdim=True).clamp(min=1e-30)
    share = share * adjacency if twice else share
    assert loops or not share[3].any()
    hidden, expected = network.pre_activation(), share @ values + w["bias1"]
    torch.testing.assert_close(hidden.double(), expected, atol=1e-5, rtol=1e-4)
    for scores in (hidden, expected):
        scores.square().sum().backward()
    for name in ("weight1", "target1", "source1", "bias1"):
        torch.testing.assert_close(network.get_parameter(name).grad.double(), w[name].grad, atol=1e-3, rtol=1e-3)
    network().sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in network.parameters())


def test_a_graph_without_edges() -> None:
    graph = Graph(
        np.ones((3, 2), np.float32), np.zeros((2, 0), np.int64), None, np.arange(3), np.arange(3), np.arange(0)
    )
    for name in NETWORKS:
        network = make_network(name, graph, hidden=4, classes=3, device=CPU)
        assert torch.isfinite(network()).all()
