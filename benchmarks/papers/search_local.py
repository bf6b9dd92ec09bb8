"""Search what the papers left open for Solitude, L-DPGCN and HoGS's FP baselines, on validation accuracy.

Each value is the mean validation accuracy, on the labels that a curator has, over collections of
simulated people with seeds of their own (1000 and on): the seeds of the reported tables are not
among them. Test labels are not looked at.

- Solitude (nothing was published): hops and smoothing; then weight decay and dropout; then the two
  penalties. One setting serves a data set and a network: found at eps_a = 7.5, the middle of Table 3.
- LPGNN with private lists, as Solitude's table has it: hops, weight decay, dropout, found at eps_a = 7.5 too.
- L-DPGCN: the degrees' share and how pairs are ranked, at the published lr, weight decay and dropout.
- FP-Blink (two shares, on a coarser grid than HoGS's paper names), FP-LDPGen and FP-Solitude (the features' share), and
  how far features are smoothed. One setting serves a data set, whatever the network and the budget: found with a GCN at
  epsilon 5, FP-Solitude at 8, where its noisy graph is small.

    python -m benchmarks.papers.search_local [solitude lpgnn ldpgcn fp-blink fp-ldpgen fp-solitude] [--only cora-sage]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks import ROOT

SEEDS = (1000, 1001)
STORED = ROOT / "curator" / "tuned"
SOURCE = "mean validation accuracy over two collections, grid in benchmarks/papers/search_local.py"
HOPS = {"smoothing": ("mean", "symmetric"), "l_x": (2, 4, 8), "l_y": (0, 2, 4), "weight_decay": (0.01,),
        "gnn_dropout": (0.5,)}  # fmt: skip
SOLITUDE = (HOPS, {"weight_decay": (0.01, 0.001), "gnn_dropout": (0.25, 0.5, 0.75)},
            {"lambda_1": (1e-3, 1e-2), "lambda_2": (1e-4, 1e-3)})  # fmt: skip
PRIVATE_LPGNN = ({"k_x": (1, 2, 4, 8), "weight_decay": (0.01,), "gnn_dropout": (0.75,)},
                 {"lr": (0.01, 0.001), "weight_decay": (0.1, 0.01, 0.001), "gnn_dropout": (0.5, 0.75)})  # fmt: skip
SHARES = {"delta1": (0.5, 0.66, 0.75), "delta2": (0.5, 0.75)}


@dataclass(frozen=True)
class Search:
    """A search: its run, its stages, and the keys of the run that are no condition of the stored setting."""

    name: str
    run: dict[str, Any]
    stages: Sequence[dict[str, Any]]
    query: dict[str, Any] = field(default_factory=dict)
    general: tuple[str, ...] = ()


def searches() -> Iterator[Search]:
    """Yield all searches."""
    for dataset in ("cora", "citeseer-lcc", "citeseer"):
        for gnn in ("sage", "gcn"):
            run: dict[str, Any] = {
                "method": "solitude",
                "dataset": dataset,
                "gnn": gnn,
                "eps_adjacency": 7.5,
                "eps_features": 1.0,
            }
            yield Search(f"solitude-{dataset}-{gnn}", run, SOLITUDE, general=("eps_adjacency",))
            run = {**run, "method": "lpgnn", "eps_labels": float("inf"),
                   "settings": {"adjacency": "private", "k_y": "0"}}  # fmt: skip
            yield Search(f"lpgnn-{dataset}-{gnn}", run, PRIVATE_LPGNN)
    for epsilon in (5.0, 6.0):
        run = {"method": "ldpgcn", "dataset": "cora", "gnn": "gcn", "epsilon": epsilon, "split": "split42",
               "tuned": True}  # fmt: skip
        yield Search(f"ldpgcn-cora-{epsilon:g}", run, ({"pairs": ("mean", "directed")},),
                     {"count_share": (0.01, 0.1)})  # fmt: skip
    anywhere = ("epsilon", "gnn")
    for dataset in ("cora", "citeseer"):
        run = {"dataset": dataset, "gnn": "gcn", "epsilon": 5.0}
        yield Search(f"fp-blink-{dataset}", {**run, "method": "fp-blink"}, ({"l": (0, 1, 2)},), SHARES, anywhere)
        yield Search(f"fp-ldpgen-{dataset}", {**run, "method": "fp-ldpgen"}, ({"l": (0, 2)},),
                     {"feature_share": (0.1, 0.3, 0.5, 0.7, 0.9)}, anywhere)  # fmt: skip
        run |= {"method": "fp-solitude", "epsilon": 8.0}
        yield Search(f"fp-solitude-{dataset}", run, ({"smoothing": ("mean", "symmetric"), "l_x": (0, 2)},),
                     {"feature_share": (0.1, 0.3)}, anywhere)  # fmt: skip


def run(search: Search) -> None:
    """Search, print every candidate, and store the best one if its method stores our settings."""
    from strategies.experiments.trial import gather
    from strategies.experiments.tune import search as compare
    from strategies.experiments.tuned_file import setting_of, store
    from strategies.setup.options import RunOptions

    options = RunOptions(**search.run, out=None, device="cpu", engine="local", reference=False, nulls=False)

    def collect(asked: RunOptions) -> list[Any]:
        return [gather(replace(asked, seed=seed)) for seed in SEEDS]

    found = compare(options, search.stages, search.query, collect=collect)
    for candidate in found.candidates:
        print(f"{search.name}: {100 * candidate.val_accuracy:.2f} {dict(candidate.query)} {dict(candidate.values)}",
              flush=True)  # fmt: skip
    if search.run["method"] in ("ldpgcn", "lpgnn"):
        return  # published settings stay; what was found is the default, or stands in papers/solitude.py
    setting = setting_of(options, found, search.stages, search.query)
    setting = {key: value for key, value in setting.items() if key not in search.general}
    setting["source"] = SOURCE
    store(STORED / f"{search.run['method'].replace('-', '_')}.toml", setting)


def main() -> None:
    """Run the searches that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*")
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    for search in searches():
        name = search.name
        if (not given.methods or search.run["method"] in given.methods) and all(part in name for part in given.only):
            run(search)


if __name__ == "__main__":
    main()
