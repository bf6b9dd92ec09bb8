"""Solitude: Table 3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.papers.cell import TableCell, cell_options, look_up

TABLE_3 = "Table 3 (eps_x 1)"
LEVELS = ("bit_adjacency", "relationship", "vector", "user")
BASE = {"l_x": 0, "l_y": 0, "structure_rate": 0, "features": "literal", "gnn_dropout": 0.1}
# LPGNN's published training for labels in clear; k_x of the best validation accuracy on Cora
LPGNN = {"k_x": 4, "weight_decay": 0.01, "gnn_dropout": 0.75}
# Best validation accuracy of benchmarks/papers/search_local.py, commit 54ab255. An lr of 1e-3 was tried here alone.
LPGNN_ON_CITESEER = {"lr": 0.001, "weight_decay": 0.1, "gnn_dropout": 0.75}
HOPS_ON_CITESEER = {"sage": 2, "gcn": 4}
PAPERS = {"citeseer": "citeseer-lcc"}  # the paper's rows of CiteSeer, which it states to be the one of 2,110 nodes
# for LastFM, where nothing could be searched: what the search chose on Cora and CiteSeer with either network
ELSEWHERE = {"smoothing": "symmetric", "l_x": 2, "l_y": 0, "weight_decay": 0.01, "gnn_dropout": 0.75}
BUDGETS = (7.0, 7.3, 7.5, 7.7, 7.9, 8.0)
LASTFM = (7.7, 7.9, 8.0, 8.3, 8.5, 8.7)


def cells(home: Path) -> Iterator[TableCell]:
    """Yield the cells."""
    for dataset, budgets in (("cora", BUDGETS), ("citeseer-lcc", BUDGETS), ("citeseer", BUDGETS), ("lastfm", LASTFM)):
        for gnn in ("sage", "gcn"):
            for eps_a in budgets:
                for model in ("base", "lpgnn", "solitude", "solitude, both ends"):
                    yield _cell(dataset, gnn, eps_a, model)


def _cell(dataset: str, gnn: str, eps_a: float, model: str) -> TableCell:
    budget = {"eps_adjacency": eps_a, "eps_features": 1.0, "gnn": gnn}
    if model == "lpgnn":
        chosen = {**LPGNN_ON_CITESEER, "k_x": HOPS_ON_CITESEER[gnn]} if dataset == "citeseer" else LPGNN
        settings = {"adjacency": "private", "k_y": 0, **chosen}
        options = cell_options("lpgnn", dataset, **budget, eps_labels=float("inf"), settings=settings)
    elif model == "base":
        options = cell_options("solitude", dataset, **budget, settings=BASE)
    else:
        settings = {"topology": "and"} if model.endswith("both ends") else {}
        stored = dataset != "lastfm"
        options = cell_options(
            "solitude", dataset, **budget, tuned=stored, settings=settings if stored else settings | ELSEWHERE
        )
    found = {"dataset": PAPERS.get(dataset, dataset), "gnn": gnn, "eps_a": f"{eps_a:.1f}", "model": model}
    ends = eps_a in (7.0, 8.0)
    if dataset == "cora" and gnn == "sage" and ends and model in ("solitude", "base"):
        level = 0
    else:
        level = 1 + (not ends) + 2 * (dataset != "cora") + (gnn == "gcn")
    return TableCell(
        TABLE_3, {"data set": dataset, "network": gnn, "eps_a": f"{eps_a:g}", "model": model}, options,
        look_up("solitude", "paper", **found), look_up("solitude", "reproduction", **found),
        absent="features absent" if dataset == "lastfm" else "", level=level, quick=eps_a == 8 and gnn == "sage",
        again=dataset == "citeseer-lcc",  # the paper's figures are those of the larger graph: see the notes
    )  # fmt: skip
