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

from ldpsim.curator.methods import OwnerMethod, Reference, find, table
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
