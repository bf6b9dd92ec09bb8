"""Graphs that are hard on a method: each works by a stated rule, or says in one line why not.

Whole runs on a small population of the test's own, every local method and reference.

A graph of pairs: nodes without a neighbour keep what they have, nodes without a feature are
zero rows, and a class that no training node shows is learned by nobody (its nodes count as wrong
unless chance names it). Nothing at all: an empty graph reported with next to no noise, nobody
with a feature, one class in training; there is nothing to spread over, columns are constant and
standardise to 0, and the one class is predicted.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import RGNN, Budget, OwnerMethod, Reference, find, table
from ldpsim.devices.facts import PublicFacts, Split
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.setup.read_options import read_alone

N, D, CLASSES = 40, 12, 3
LOCAL = sorted(
    name
    for name, kind in table().items()
    if not issubclass(kind, OwnerMethod) and "rounds" not in {entry.name for entry in fields(kind)}  # nor federated
)
SMALL: dict[str, dict[str, str]] = {
    "rgnn": {"C": "4", "m": "3"}, "ldpgen": {"graph": "one-sided"}, "lpgnn": {"k_x": "2", "k_y": "2"},
}  # fmt: skip


def _people(folder: Path, **changes: Any) -> Path:
    rng = np.random.default_rng(3)
    labels = np.arange(N) % CLASSES
    same = labels[:, None] == labels
    upper = np.triu(rng.random((N, N)) < np.where(same, 0.25, 0.03), 1)
    features = (rng.random((N, D)) < np.where(np.arange(D) % CLASSES == labels[:, None], 0.6, 0.1)).astype(float)
    split = {"train": np.arange(20), "val": np.arange(20, 30), "test": np.arange(30, N)}
    arrays = {
        "x": features, "edge_index": np.stack(np.nonzero(upper)), "labels": labels, "num_classes": CLASSES, **split,
        **changes,
    }  # fmt: skip
    path = folder / "people.npz"
    np.savez(path, **arrays)
    return path


HARD: dict[str, dict[str, Any]] = {
    "pairs": {
        "edge_index": np.array([[0, 1, 2, 25], [1, 2, 3, 31]]),
        "labels": np.where(np.arange(N) < 30, np.arange(N) % 2, 2),
        "x": np.where(np.arange(N)[:, None] % 4 == 0, 0.0, np.arange(N * D).reshape(N, D) % 3 == 0),
    },
    "nothing": {
        "edge_index": np.zeros((2, 0), np.int64),
        "x": np.zeros((N, D)),
        "labels": np.where(np.arange(N) < 30, 1, np.arange(N) % CLASSES),
    },
}


def _run(name: str, path: Path, **given: Any) -> dict[str, Any]:
    settings = {"epochs": "2", **SMALL.get(name, {}), **given.pop("settings", {})}
    options = RunOptions(
        method=name, dataset=str(path), settings=settings, split="file", reference=False, nulls=False,
        epsilon=40.0, **{"out": None, **given},
    )  # fmt: skip
    return simulate(read_alone(options)[0]).record


@pytest.mark.parametrize("what", HARD)
@pytest.mark.parametrize("name", LOCAL)
def test_it_runs(name: str, what: str, tmp_path: Path) -> None:
    settings = {"k_y": "0"} if (name, what) == ("lpgnn", "nothing") else {}
    record = _run(name, _people(tmp_path, **HARD[what]), settings=settings)
    assert 0 <= record["accuracy"]["test"] <= 1
    if not issubclass(find(name), Reference):
        assert record["devices"]["reported"] == N


def test_labels_that_nobody_passes_on(tmp_path: Path) -> None:
    """LPGNN's Drop takes a node's neighbours' labels, not its own: in an empty graph it has none."""
    with pytest.raises(ValueError, match=r"no label reaches a training node over 2 hops.*--set k_y=0 takes"):
        _run("lpgnn", _people(tmp_path, **HARD["nothing"]))


@pytest.mark.parametrize(
    "name, settings, line",
    [
        ("rgnn", {"m": "13"}, "--set m=13: of 12 features 1..12 can be sampled"),
        ("rgnn", {"m": "4", "group": "4"}, "--set m=4: of 3 features 1..3 can be sampled"),
        ("rgnn", {"m": "0"}, "--set m=0: must be 1.."),
        ("rgnn", {"m": "3", "C": "41"}, "--set C=41: 40 nodes cannot be cut into more clusters than there are nodes"),
        ("lpgnn", {"m": "13"}, "--set m=13: of 12 features 1..12 can be sampled"),
        ("lpgnn", {"m": "0"}, "--set m=0: must be optimal, floor or a whole number of at least 1"),
        ("solitude", {"m": "13"}, "--set m=13: of 12 features 1..12 can be sampled"),
        ("ldpgen", {"groups": "41"}, "--set groups=41: there are only 40 people to group"),
        ("fp-ldpgen", {"first_groups": "41"}, "--set first_groups=41: there are only 40 people to group"),
    ],
)
def test_more_than_there_is_is_one_line(name: str, settings: dict[str, str], line: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError) as caught:
        _run(name, _people(tmp_path), settings=settings)
    assert str(caught.value).startswith(line) and "\n" not in str(caught.value)


def test_a_domain_of_one_category_is_refused() -> None:
    """A feature, or a label, that has one value says nothing; the line says so."""
    split = Split(np.arange(4), np.arange(4, 6), np.arange(6, 9))
    with pytest.raises(ValueError, match="a feature with a single one says nothing"):
        RGNN(m=1, C=2).questions(PublicFacts(9, 4, 2, domains=(1, 3)), split, Budget(), "c")
    for name in ("rgnn", "lpgnn"):
        method = find(name).from_settings({"m": "1", "C": "2"} if name == "rgnn" else {"m": "1"})
        with pytest.raises(ValueError, match="at least 2 categories"):
            method.questions(PublicFacts(9, 4, 1), split, Budget(), "c")


def test_a_cluster_without_labelled_nodes_is_left_out(tmp_path: Path) -> None:
    """Two thirds of RGNN's clusters have nobody who trains: the mean of the loss is over the others."""
    split = {"train": np.arange(3), "val": np.arange(3, 6), "test": np.arange(6, N)}
    record = _run("rgnn", _people(tmp_path, **split), settings={"C": "20"})
    assert 0 <= record["accuracy"]["test"] <= 1


def test_rows_that_do_not_fit_are_refused_before_anybody_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ldpsim.curator.methods.local.ldpgcn.available_memory", lambda: 10_000)
    monkeypatch.setattr(
        "ldpsim.strategies.runs.one_report.gather_reports", lambda *given, **named: pytest.fail("somebody was asked")
    )
    with pytest.raises(ValueError, match=r"ldpgcn asks each of 40 devices for 39 numbers: 40 bytes a device and about"):
        _run("ldpgcn", _people(tmp_path), out=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
