"""LPGNN: Table 3 of the first text (features only), and Cora in the version with labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.cell import TableCell, cell_options, look_up
from ldpsim.devices import datasets
from ldpsim.strategies.setup.options import RunOptions

TEXT, CCS = "Table 3 (version text)", "Features and labels (version ccs), Cora"
SPLITS = "Table 3 (version text), a new split in every run"
LEVELS = ("vector", "label", "relationship")
# Table 2 of the first text: the references use the method's own lr, weight decay and dropout
TABLE_2 = {
    "cora": (0.01, 0.01, 0.0), "citeseer": (0.01, 0.01, 0.0), "pubmed": (0.01, 0.001, 0.0),
    "facebook": (0.01, 0.001, 0.5), "github": (0.01, 0.0, 0.5), "lastfm": (0.01, 0.001, 0.75),
}  # fmt: skip
SIZE = {"cora": 0, "citeseer": 1, "pubmed": 2, "facebook": 3, "github": 3, "lastfm": 3}
NEW_SPLITS = ("cora", "citeseer")
DENSE = ("cora", "citeseer", "pubmed")  # small enough for a file of random features
PAIRS = ((1.0, 1.0), (1.0, 2.0), (1.0, float("inf")), (0.01, 1.0), (0.1, 1.0), (1.0, 0.5), (float("inf"), 1.0),
         (0.01, float("inf")), (0.1, float("inf")), (2.0, float("inf")))  # fmt: skip


def cells(home: Path) -> Iterator[TableCell]:
    """Yield the cells."""
    for eps_x, eps_y in PAIRS:
        place = {"dataset": "cora", "version": "ccs", "eps_x": f"{eps_x:g}", "eps_y": f"{eps_y:g}", "model": "lpgnn"}
        options = cell_options("lpgnn", "cora", eps_features=eps_x, eps_labels=eps_y, tuned=True, repeats_vary="noise")
        first = eps_x == 1 and eps_y in (1, 2, float("inf"))
        yield TableCell(
            CCS, {"data set": "cora", "eps_x": f"{eps_x:g}", "eps_y": f"{eps_y:g}", "model": "lpgnn"}, options,
            look_up("lpgnn", "notebook", **place), look_up("lpgnn", "measured", **place), level=0 if first else 2,
            quick=eps_x == 1 and eps_y == 1,
        )  # fmt: skip
    for dataset in TABLE_2:
        yield from _text(home, dataset)
    for dataset in NEW_SPLITS:
        for cell in _text(home, dataset):
            options = replace(cell.options, repeats_vary=RunOptions.repeats_vary)
            judged = dataset == "cora" and cell.keys["eps_x"] == "1"
            yield replace(cell, table=SPLITS, options=options, quick=False, again=True,
                          level=0 if judged else cell.level)  # fmt: skip


def _text(home: Path, dataset: str) -> Iterator[TableCell]:
    """Table 3 of a data set, on one split."""
    absent = "features absent" if dataset == "lastfm" else ""
    size = SIZE[dataset]
    for epsilon in (1.0, 0.1, 0.5, 2.0):
        options = cell_options("lpgnn", dataset, epsilon=epsilon, gnn="gcn", tuned=True, repeats_vary="noise",
                       settings={"version": "text"})  # fmt: skip
        paper = look_up("lpgnn", "paper", dataset=dataset, eps_x=f"{epsilon:.1f}", model="lpgnn")
        level = 0 if dataset in ("pubmed", "facebook") and epsilon == 1 else size + 1
        keys = {"data set": dataset, "eps_x": f"{epsilon:g}", "eps_y": "public", "model": "lpgnn"}
        yield TableCell(TEXT, keys, options, paper, absent=absent, level=level, quick=epsilon == 1 and size < 2)
    lr, decay, dropout = TABLE_2[dataset]
    # one hop with self-loops is a GCN layer: the text's own network on features in clear
    settings = {"version": "text", "k_x": 1, "self_loops": "true", "lr": lr, "weight_decay": decay,
                "gnn_dropout": dropout}  # fmt: skip
    for model in ("raw", "rnd", "ohd"):
        path = dataset if model == "raw" else f"{home}/{dataset}-{model}.npz"
        if model != "raw" and (absent or (model == "rnd" and dataset not in DENSE)):
            options = cell_options(model, dataset, gnn="gcn", repeats_vary="noise", settings={"epochs": 500})
        else:
            options = cell_options("lpgnn", path, gnn="gcn", eps_features=float("inf"), repeats_vary="noise",
                           settings=settings)  # fmt: skip
        paper = look_up("lpgnn", "paper", dataset=dataset, model=model)
        yield TableCell(TEXT, {"data set": dataset, "eps_x": "-", "eps_y": "-", "model": model}, options, paper,
                    absent=absent, level=size + 1, quick=dataset == "cora")  # fmt: skip


def prepare(home: Path) -> None:
    """Write the data sets with made-up features: uniform noise, and the degree as a one-hot vector."""
    home.mkdir(parents=True, exist_ok=True)
    for dataset in SIZE:
        for model in ("rnd", "ohd"):
            path = home / f"{dataset}-{model}.npz"
            if path.exists() or dataset == "lastfm" or (model == "rnd" and dataset not in DENSE):
                continue
            people = datasets.load(dataset)
            n, d = len(people), people.facts.d
            common: dict[str, Any] = {
                "edge_index": people.edges,
                "labels": people.labels,
                "feature_range": np.array([0.0, 1.0]),
                "num_classes": people.facts.classes,
            }
            if model == "rnd":
                np.savez(path, **common, x=np.random.default_rng(0).random((n, d), np.float32))
            else:
                places = np.minimum(np.bincount(people.edges.ravel(), minlength=n), d - 1)
                np.savez(path, **common, indptr=np.arange(n + 1), indices=places, num_features=d)
