"""FeatFree ("Revisiting Locally Differentially Private Graph Neural Networks"): Figure 1 and Table 4."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.papers.cell import TableCell, cell_options, look_up

LEVELS = ("vector", "label", "relationship")
TABLES = {"identity": ("Table 4", "FeatFree-P"), "random": ("Figure 1", "FeatFree")}
DATASETS = {"cora": 0, "citeseer": 0, "facebook": 2, "lastfm-graph": 3}


def cells(home: Path) -> Iterator[TableCell]:
    """Yield the cells."""
    for dataset, level in DATASETS.items():
        for features, (table, model) in TABLES.items():
            for gnn in ("gcn", "sage", "gat"):
                costly = features == "random" and dataset != "cora" or gnn == "gat"
                yield TableCell(
                    table, {"data set": dataset, "network": gnn, "model": model},
                    cell_options("featfree", dataset, tuned=True, gnn=gnn, settings={"features": features}),
                    look_up("featfree", "paper", dataset=dataset.removesuffix("-graph"), gnn=gnn, model=model),
                    level=level + costly, quick=dataset == "cora" and gnn == "gcn",
                )  # fmt: skip
