"""Search HoGS's parameters on validation accuracy and write ``curator/tuned/hogs.toml``.

The written grid, for every cell (data set, split, features, epsilon; GCN):

1. tau in {.5, .7, .9}, l in {0, 1} (public features) or {1, 2} (private), lr in {.01, .1},
   at weight decay 1e-4 and dropout .1; for private features also feature share in {.1, .3, .5};
2. at the best of these: weight decay in {1e-3, 1e-4, 1e-5}, dropout in {.1, .5}.

Each value is the mean validation accuracy, on the labels that a curator has, over three
collections of simulated people with seeds of their own (1000 to 1002): the seeds of the
reported tables are not among them. A feature share is a query parameter, so every share
needs its own collections; ``collections`` counts all that the search asked.

    python benchmarks/search_hogs.py [--workers 2] [--only cora-public-3]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

SEEDS = (1000, 1001, 1002)
STORED = Path(__file__).parents[1] / "curator" / "tuned" / "hogs.toml"
SOURCE = "mean validation accuracy over three collections, grid in benchmarks/search_hogs.py"


def cells() -> list[dict[str, Any]]:
    """Return what is searched: Table III's setting, and private features on Cora."""
    public = [
        {"dataset": name, "gnn": "gcn", "split": "split42", "epsilon": epsilon, "public_features": True}
        for name, epsilon in product(("cora", "citeseer"), (3.0, 4.0, 5.0))
    ]
    private = [
        {"dataset": "cora", "gnn": "gcn", "split": "random", "epsilon": epsilon, "public_features": False}
        for epsilon in (3.0, 4.0, 5.0, 6.0, 8.0)
    ]
    return public + private


def name_of(cell: Mapping[str, Any]) -> str:
    """Return a cell's short name, for ``--only``."""
    return f"{cell['dataset']}-{'public' if cell['public_features'] else 'private'}-{cell['epsilon']:g}"


def search(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Search one cell and return its stored setting."""
    from curator.methods import HoGS
    from curator.training import TrainingSettings
    from strategies.options import RunOptions
    from strategies.tuning import gather

    def collect(share: float | None) -> list[Any]:
        return [
            gather(RunOptions(
                dataset=cell["dataset"], split=cell["split"], epsilon=cell["epsilon"], out=None, seed=seed,
                public_features=cell["public_features"], feature_share=share,
            ))
            for seed in SEEDS
        ]  # fmt: skip

    def score(trials: list[Any], method: Any, trainings: list[Any]) -> list[float]:
        graphs = [trial.reconstruct(method) for trial in trials]
        return [float(np.mean([t.score(g, s)[0] for t, g in zip(trials, graphs, strict=True)])) for s in trainings]

    shares = (None,) if cell["public_features"] else (0.1, 0.3, 0.5)
    hops = (0, 1) if cell["public_features"] else (1, 2)
    first = [TrainingSettings(gnn=cell["gnn"], lr=lr) for lr in (0.01, 0.1)]
    best: tuple[float, Any, Any, float | None, list[Any]] | None = None
    for share in shares:
        trials = collect(share)
        for tau, l in product((0.5, 0.7, 0.9), hops):  # noqa: E741 - the paper's name
            method = HoGS(tau=tau, l=l)
            for value, training in zip(score(trials, method, first), first, strict=True):
                if best is None or value > best[0]:
                    best = (value, method, training, share, trials)
    assert best is not None
    _, method, training, share, trials = best
    second = [
        TrainingSettings(gnn=cell["gnn"], lr=training.lr, weight_decay=decay, gnn_dropout=dropout)
        for decay, dropout in product((1e-3, 1e-4, 1e-5), (0.1, 0.5))
    ]
    values = score(trials, method, second)
    chosen = second[int(np.argmax(values))]
    print(name_of(cell), f"validation {max(values):.4f}", method, chosen, f"share {share}", flush=True)
    setting = {
        **cell,
        **({"feature_share": share} if share is not None else {}),
        "provenance": "ours",
        "source": SOURCE,
        "collections": len(SEEDS) * len(shares),
        "values": {
            "tau": method.tau, "l": method.l, "lr": chosen.lr, "weight_decay": chosen.weight_decay,
            "gnn_dropout": chosen.gnn_dropout,
        },
    }  # fmt: skip
    return setting


def main() -> None:
    """Search the cells and write the table whole."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--only", nargs="*", help="cells by name; nothing is written then")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    chosen = [cell for cell in cells() if not arguments.only or name_of(cell) in arguments.only]
    with ProcessPoolExecutor(arguments.workers) as pool:
        found = list(pool.map(search, chosen))
    if not arguments.only:
        head = "# Written by benchmarks/search_hogs.py; what the columns mean: curator/tuned/__init__.py.\n\n"
        STORED.write_text(head + tomli_w.dumps({"setting": found}))


if __name__ == "__main__":
    main()
