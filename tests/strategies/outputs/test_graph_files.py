"""Files of a reconstructed graph: read back by numpy, networkx, csv and ``--dataset``."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import networkx
import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.graph import Graph
from ldpsim.devices.datasets.npz_file import read_npz_file
from ldpsim.strategies import RunFailed, RunOptions, simulate
from ldpsim.strategies.outputs.graph import FORMS, ResultGraph

QUICK = {"clients": 60, "settings": {"epochs": "2"}, "reference": False, "nulls": False}


def made(*, weighted: bool = False, sparse: bool = False) -> ResultGraph:
    dense = np.array([[-1.5, 0], [0.5, 0], [0, 0], [0, 2.25]], np.float32)
    weights = np.array([0.5, 0.5, 0.25, 0.25], np.float32) if weighted else None
    trained = Graph(csr_array(dense) if sparse else dense, np.array([[0, 1, 1, 2], [1, 0, 2, 1]]), weights,
                    np.array([0, 1, -1, -1]), np.array([0]), np.array([1]))  # fmt: skip
    return ResultGraph(trained, np.array([1, 1, 1, 0]), np.array([2, 3]), 2, {"method": "hogs"})


@pytest.mark.parametrize("sparse", [False, True])
def test_an_npz_is_a_data_set(tmp_path: Path, sparse: bool) -> None:
    """Labels are the curator's, and predictions elsewhere; all else is what trained."""
    path = made(weighted=True, sparse=sparse).save(tmp_path / "graph.npz")
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
    graph = made(weighted=True)
    found = networkx.read_graphml(graph.save(tmp_path / "graph.graphml"))
    wanted = graph.to_networkx()
    assert {int(node): data for node, data in found.nodes.items()} == dict(wanted.nodes.items())
    assert {frozenset(map(int, edge)): data["weight"] for edge, data in found.edges.items()} == {
        frozenset(edge): data["weight"] for edge, data in wanted.edges.items()
    }


def test_a_csv_has_one_line_an_edge(tmp_path: Path) -> None:
    assert made().save(tmp_path / "a.csv").read_text() == "source,target\n0,1\n1,2\n"
    rows = list(csv.DictReader(made(weighted=True).save(tmp_path / "b.csv").open()))
    assert rows[0] == {"source": "0", "target": "1", "weight": "0.5"}


def test_another_suffix_or_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"graph\.pt: a graph is saved as \.npz, \.graphml, \.csv$"):
        made().save(tmp_path / "graph.pt")
    with pytest.raises(ValueError, match="the folder .*none does not exist$"):
        made().save(tmp_path / "none" / "graph.npz")


@pytest.mark.parametrize("method, form, line", [
    ("vote", "npz", "vote reconstructs no graph"), ("raw", "csv", "raw reads the true records"),
    ("hogs", "pt", "a graph is saved as"),
])  # fmt: skip
def test_a_graph_that_cannot_be_saved_is_refused_before_anybody_is_asked(
    tmp_path: Path, method: str, form: str, line: str
) -> None:
    options = RunOptions(**{**QUICK, "method": method, "settings": {}, "out": tmp_path / "runs"},
                         public_features=method == "vote")  # type: ignore[arg-type]  # fmt: skip
    with pytest.raises(ValueError, match=f"^--save-graph .*{line}"):
        simulate(options, save_graph=tmp_path / f"graph.{form}")
    assert not (tmp_path / "runs").exists()


def test_a_form_alone_is_a_file_in_the_runs_folder(tmp_path: Path) -> None:
    result = simulate(RunOptions(**QUICK, out=tmp_path), save_graph="csv")  # type: ignore[arg-type]
    assert result.folder is not None
    assert len((result.folder / "graph.csv").read_text().splitlines()) == result.graph.edges.shape[1] + 1
    with pytest.raises(ValueError, match="the run has no folder"):
        simulate(RunOptions(**QUICK, out=None), save_graph="csv")  # type: ignore[arg-type]


def test_a_file_that_cannot_be_written_does_not_lose_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(graph: ResultGraph) -> bytes:
        raise OSError(28, os.strerror(28))

    monkeypatch.setitem(FORMS, ".npz", full)
    with pytest.raises(RunFailed, match=r"graph\.npz cannot be written: No space left"):
        simulate(RunOptions(**QUICK, out=tmp_path / "runs"), save_graph=tmp_path / "graph.npz")  # type: ignore[arg-type]
    assert len(list((tmp_path / "runs").glob("*/result.json"))) == 1
