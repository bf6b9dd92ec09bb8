"""HoGS: Table III (public features), and private features, for which the paper prints no number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.papers.cell import TableCell, cell_options, look_up
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.tuned import stored

PUBLIC, PRIVATE = "Table III: public features", "Private features"
LEVELS = ("bit_adjacency", "bit_feature", "relationship", "vector", "user")


def cells(home: Path) -> Iterator[TableCell]:
    """Yield the cells."""
    for dataset in ("cora", "citeseer", "lastfm"):
        for gnn in ("gcn", "sage", "gat"):
            for epsilon in (3, 4, 5):
                for model in ("hogs", "blink"):
                    yield _public(dataset, gnn, epsilon, model)
    for dataset in ("cora",):
        for epsilon in (3, 4, 5, 6, 8):
            for model in ("hogs", "lp-and"):
                yield _private(dataset, epsilon, model)


def _public(dataset: str, gnn: str, epsilon: int, model: str) -> TableCell:
    common: dict[str, Any] = {"epsilon": float(epsilon), "gnn": gnn, "split": "split42", "repeats_vary": "noise",
                              "tuned": dataset != "lastfm"}  # fmt: skip
    if (model, gnn, common["tuned"]) == ("hogs", "gat", True):
        found_for_gcn = stored("hogs", dataset=dataset, gnn="gcn", split="split42", feature_share=None, parameters={},
                               budget=Budget(epsilon=float(epsilon), public_features=True))  # fmt: skip
        common |= {"tuned": False, "settings": dict(found_for_gcn.values)}
    options = cell_options(model, dataset, public_features=model == "hogs", **common)
    place = {"dataset": dataset, "gnn": gnn, "features": "public", "epsilon": f"{epsilon:.1f}", "model": model}
    keys = {"data set": dataset, "features": "public", "network": gnn, "epsilon": str(epsilon), "model": model}
    level = 1 if gnn == "gcn" else 2 if gnn == "sage" else 3
    return TableCell(
        PUBLIC, keys, options, look_up("hogs", "paper", **place), look_up("hogs", "reproduction", **place),
        absent="features absent" if dataset == "lastfm" else "", level=level, quick=epsilon == 4 and gnn == "gcn",
    )  # fmt: skip


def _private(dataset: str, epsilon: int, model: str) -> TableCell:
    options = cell_options(model, dataset, epsilon=float(epsilon), tuned=model == "hogs")
    place = {"dataset": dataset, "gnn": "gcn", "features": "private", "epsilon": f"{epsilon:.1f}", "model": model}
    keys = {"data set": dataset, "features": "private", "network": "gcn" if model == "hogs" else "-",
            "epsilon": str(epsilon), "model": model}  # fmt: skip
    return TableCell(
        PRIVATE, keys, options, None, look_up("hogs", "reproduction", **place), level=1, quick=epsilon == 8
    )
