"""Graph of a result: the arrays that trained, nothing of the truth, and its forms in memory and in files."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch_geometric.data import Data

from ldpsim.curator.graph import Graph
from ldpsim.curator.methods import find
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices import datasets
from ldpsim.devices.datasets.npz_file import read_npz_file
from ldpsim.strategies import RunFailed, RunOptions, RunResult, simulate
from ldpsim.strategies.outputs.graph import FORMS, NoGraph, ResultGraph
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.repeat import public_knowledge

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
    setup = prepare(RunOptions(method=method, clients=80, epsilon=6.0, out=None,
                              settings=QUICK if method in ("hogs", "blink", "lpgnn") else {}))  # fmt: skip
    public = public_knowledge(setup.population, setup.plans[0].split, setup.options, setup.method)
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


SMALL = {"clients": 60, "settings": {"epochs": "2"}, "reference": False, "nulls": False}


def on_file(*, weighted: bool = False, sparse: bool = False) -> ResultGraph:
    dense = np.array([[-1.5, 0], [0.5, 0], [0, 0], [0, 2.25]], np.float32)
    weights = np.array([0.5, 0.5, 0.25, 0.25], np.float32) if weighted else None
    trained = Graph(csr_array(dense) if sparse else dense, np.array([[0, 1, 1, 2], [1, 0, 2, 1]]), weights,
                    np.array([0, 1, -1, -1]), np.array([0]), np.array([1]))  # fmt: skip
    return ResultGraph(trained, np.array([1, 1, 1, 0]), np.array([2, 3]), 2, {"method": "hogs"})


@pytest.mark.parametrize("sparse", [False, True])
def test_an_npz_is_a_data_set(tmp_path: Path, sparse: bool) -> None:
    """Labels are the curator's, and predictions elsewhere; all else is what trained."""
    path = on_file(weighted=True, sparse=sparse).save(tmp_path / "graph.npz")
    people = read_npz_file("graph", path)
    assert people.labels.tolist() == [0, 1, 1, 0] and people.facts.classes == 2
    assert people.edges.tolist() == [[0, 1], [1, 2]]
    assert (people.facts.feature_low, people.facts.feature_high) == (-2, 3)
    assert people.own_split is not None and people.own_split.test.tolist() == [2, 3]
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays["label_known"].tolist() == [True, True, False, False]
        assert arrays["predictions"].tolist() == [1, 1, 1, 0]
        assert arrays["edge_index"].tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
        assert arrays["edge_weight"].tolist() == [0.5, 0.5, 0.25, 0.25]
        assert json.loads(str(arrays["about"])) == {"method": "hogs"}


def test_networkx_reads_its_form_back(tmp_path: Path) -> None:
    graph = on_file(weighted=True)
    found = networkx.read_graphml(graph.save(tmp_path / "graph.graphml"))
    wanted = graph.to_networkx()
    assert {int(node): data for node, data in found.nodes.items()} == dict(wanted.nodes.items())
    assert {frozenset(map(int, edge)): data["weight"] for edge, data in found.edges.items()} == {
        frozenset(edge): data["weight"] for edge, data in wanted.edges.items()
    }


def test_a_csv_has_one_line_an_edge(tmp_path: Path) -> None:
    assert on_file().save(tmp_path / "a.csv").read_text() == "source,target\n0,1\n1,2\n"
    rows = list(csv.DictReader(on_file(weighted=True).save(tmp_path / "b.csv").open()))
    assert rows[0] == {"source": "0", "target": "1", "weight": "0.5"}


def test_a_form_alone_is_a_file_in_the_runs_folder(tmp_path: Path) -> None:
    result = simulate(RunOptions(**SMALL, out=tmp_path), save_graph="csv")  # type: ignore[arg-type]
    assert len((result.folder / "graph.csv").read_text().splitlines()) == result.graph.edges.shape[1] + 1
    with pytest.raises(ValueError, match="the run has no folder"):
        simulate(RunOptions(**SMALL, out=None), save_graph="csv")  # type: ignore[arg-type]


def test_a_file_that_cannot_be_written_does_not_lose_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(graph: ResultGraph) -> bytes:
        raise OSError(28, os.strerror(28))

    monkeypatch.setitem(FORMS, ".npz", full)
    with pytest.raises(RunFailed, match=r"graph\.npz cannot be written: No space left"):
        simulate(RunOptions(**SMALL, out=tmp_path / "runs"), save_graph=tmp_path / "graph.npz")  # type: ignore[arg-type]
    assert len(list((tmp_path / "runs").glob("*/result.json"))) == 1
