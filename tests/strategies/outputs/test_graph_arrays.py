"""Graph of a result: the arrays that trained, nothing of the truth, and its forms in memory.

Covers graph_arrays and graph; its files are tested in test_graph_files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from ldpsim.curator.graph import Graph
from ldpsim.curator.methods import find
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices import datasets
from ldpsim.strategies import RunOptions, RunResult, simulate
from ldpsim.strategies.outputs.graph import NoGraph, ResultGraph
from ldpsim.strategies.runs.run import public_knowledge
from ldpsim.strategies.runs.set_up import set_up

QUICK = {"epochs": "2"}


def run(method: str = "hogs", **given: Any) -> RunResult:
    settings = QUICK if method in ("hogs", "blink", "raw", "lpgnn") else {}
    chosen: dict[str, Any] = {"clients": 80, "settings": settings, "reference": False, "nulls": False, "out": None}
    return simulate(RunOptions(method=method, **{**chosen, **given}))


@pytest.mark.parametrize("method", ["hogs", "sbp", "lpgnn"])
def test_the_graph_is_the_one_that_trained(method: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The arrays are those that the method's training got; the same follow from the saved reports."""
    kind, got = find(method), list[Graph]()
    train = kind.train

    def noting(self: Any, graph: Graph, **more: Any) -> Any:
        got.append(graph)
        return train(self, graph, **more)

    monkeypatch.setattr(kind, "train", noting)
    result = run(method, epsilon=6.0, out=tmp_path, save_reports=True)
    graph = result.graph
    assert len(got) == 1 and graph.trained is got[0]
    assert graph.to_pyg().edge_index.numpy().tobytes() == got[0].edge_index.tobytes()
    assert graph.about["reports_sha256"] == result.record["devices"]["reports_sha256"]
    assert graph.about["edges"] == ("public" if method == "lpgnn" else "reconstructed")
    assert result.folder is not None
    setup = set_up(RunOptions(method=method, clients=80, epsilon=6.0, out=None,
                              settings=QUICK if method in ("hogs", "blink", "lpgnn") else {}))  # fmt: skip
    public = public_knowledge(setup.population, setup.repeats[0].split, setup.options, setup.method)
    again = setup.method.reconstruct(Reports.load(result.folder / "reports"), public)
    np.testing.assert_array_equal(again.edge_index, graph.trained.edge_index)


def test_the_truth_is_not_in_it() -> None:
    """At a small budget the reconstructed edges are others, and no label of a test person is there."""
    result = run(epsilon=1.0)
    graph, people = result.graph, datasets.load("generated", clients=80, seed=RunOptions().seeds_of(0).population)
    true = {tuple(pair) for pair in np.sort(people.edges, axis=0).T.tolist()}
    found = {tuple(pair) for pair in graph.edges.T.tolist()}
    assert found != true
    data = graph.to_pyg()
    assert (data.y[data.test_mask] == -1).all() and (data.y[data.train_mask] >= 0).all()
    assert data.test_mask.sum() == result.record["dataset"]["split"]["test"]
    correct = (data.prediction[data.test_mask].numpy() == people.labels[data.test_mask.numpy()]).mean()
    assert correct == pytest.approx(result.record["accuracy"]["test"])


@pytest.mark.parametrize("method", ["vote", "raw", "fedavg-mlp"])
def test_a_method_without_a_graph_says_so_in_one_sentence(method: str) -> None:
    more = {"fedavg-mlp": {"rounds": "1", "fraction": "0.1"}}.get(method, {})
    result = run(method, clients=60, settings=more, public_features=method == "vote")
    with pytest.raises(NoGraph, match=f"^{method} .*graph.*$") as error:
        result.graph  # noqa: B018
    assert "\n" not in str(error.value) and isinstance(error.value, ValueError)


def made(edges: list[list[int]], weights: Any = None, features: Any = None) -> ResultGraph:
    features = np.ones((4, 2), np.float32) if features is None else features
    trained = Graph(features, np.array(edges), weights, np.array([0, 1, -1, -1]), np.array([0]), np.array([1]))
    return ResultGraph(trained, np.array([0, 1, 1, 0]), np.array([2]), 2, {"method": "hogs"})


def test_pyg_has_everything_that_the_curator_has() -> None:
    weights = np.array([0.5, 0.5, 1.0, 1.0], np.float32)
    data = made([[0, 1, 1, 2], [1, 0, 2, 1]], weights).to_pyg()
    assert isinstance(data, Data) and data.validate()
    assert data.x.shape == (4, 2) and data.x.dtype == torch.float32 and not data.is_directed()
    assert data.edge_weight.tolist() == weights.tolist()
    assert data.y.tolist() == [0, 1, -1, -1] and data.prediction.tolist() == [0, 1, 1, 0]
    masks = {name: data[f"{name}_mask"].nonzero().ravel().tolist() for name in ("train", "val", "test")}
    assert masks == {"train": [0], "val": [1], "test": [2]}


def test_sparse_features_stay_sparse() -> None:
    from scipy.sparse import csr_array

    features = csr_array(np.array([[0, 1], [2, 0], [0, 0], [1, 1]], np.float32))
    found = made([[0], [1]], features=features).to_pyg().x
    assert found.layout == torch.sparse_csr and found.to_dense().numpy().tolist() == features.toarray().tolist()


def test_networkx_is_directed_only_where_the_edges_are() -> None:
    both = made([[0, 1, 1, 2], [1, 0, 2, 1]]).to_networkx()
    assert not both.is_directed() and sorted(both.edges) == [(0, 1), (1, 2)] and len(both) == 4
    assert both.nodes[3] == {"prediction": 0} and both.nodes[0] == {"known_label": 0, "part": "train", "prediction": 0}
    one = made([[0, 1], [1, 2]]).to_networkx()
    assert isinstance(one, networkx.DiGraph) and sorted(one.edges) == [(0, 1), (1, 2)]
    weighted = made([[0, 1], [1, 0]], np.array([0.25, 0.75], np.float32)).to_networkx()
    assert weighted.is_directed() and weighted.edges[1, 0]["weight"] == 0.75
