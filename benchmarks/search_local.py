"""Search what the papers left open for Solitude, L-DPGCN and FP-Blink, on validation accuracy.

Each value is the mean validation accuracy, on the labels that a curator has, over collections of
simulated people with seeds of their own (1000 and on): the seeds of the reported tables are not
among them. Test labels are not looked at.

- Solitude (nothing was published): hops and smoothing; then weight decay and dropout; then the two
  penalties. One setting serves a data set and a network: found at eps_a = 7.5, the middle of Table 3.
- L-DPGCN: the degrees' share and how pairs are ranked, at the published lr, weight decay and dropout.
- FP-Blink: its two shares, on a coarser grid than HoGS's paper names, at HoGS's defaults.

    python benchmarks/search_local.py [solitude ldpgcn fp-blink] [--only cora-sage]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

SEEDS = (1000, 1001)
STORED = Path(__file__).parents[1] / "curator" / "tuned"
SOURCE = "mean validation accuracy over two collections, grid in benchmarks/search_local.py"
HOPS = {"smoothing": ("mean", "symmetric"), "l_x": (2, 4, 8), "l_y": (0, 2, 4), "weight_decay": (0.01,),
        "gnn_dropout": (0.5,)}  # fmt: skip
SOLITUDE = (HOPS, {"weight_decay": (0.01, 0.001), "gnn_dropout": (0.25, 0.5, 0.75)},
            {"lambda_1": (1e-3, 1e-2), "lambda_2": (1e-4, 1e-3)})  # fmt: skip
SHARES = {"delta1": (0.5, 0.66, 0.75), "delta2": (0.5, 0.75)}


@dataclass(frozen=True)
class Search:
    """One search: of which run, over what, and which keys of the run are no condition of the stored setting."""

    name: str
    run: dict[str, Any]
    stages: Sequence[dict[str, Any]]
    query: dict[str, Any] = field(default_factory=dict)
    general: tuple[str, ...] = ()


def searches() -> Iterator[Search]:
    """Yield all."""
    for dataset in ("cora", "citeseer-lcc"):
        for gnn in ("sage", "gcn"):
            run = {"method": "solitude", "dataset": dataset, "gnn": gnn, "eps_adjacency": 7.5, "eps_features": 1.0}
            yield Search(f"solitude-{dataset}-{gnn}", run, SOLITUDE, general=("eps_adjacency",))
    for epsilon in (5.0, 6.0):
        run = {"method": "ldpgcn", "dataset": "cora", "gnn": "gcn", "epsilon": epsilon, "split": "split42",
               "tuned": True}  # fmt: skip
        yield Search(f"ldpgcn-cora-{epsilon:g}", run, ({"pairs": ("mean", "directed")},),
                     {"count_share": (0.01, 0.1)})  # fmt: skip
    for dataset in ("cora", "citeseer"):
        for epsilon in (3.0, 4.0, 5.0, 6.0, 7.0, 8.0):
            run = {"method": "fp-blink", "dataset": dataset, "gnn": "gcn", "epsilon": epsilon}
            yield Search(f"fp-blink-{dataset}-{epsilon:g}", run, ({"l": (1, 2)},), SHARES)


def run(search: Search) -> None:
    """Search, print every candidate and store the winner, where its method stores any of ours."""
    from strategies.options import RunOptions
    from strategies.search import search as compare
    from strategies.tuned_file import setting_of, store
    from strategies.tuning import gather

    options = RunOptions(**search.run, out=None, device="cpu", engine="local", reference=False)

    def collect(asked: RunOptions) -> list[Any]:
        return [gather(replace(asked, seed=seed)) for seed in SEEDS]

    found = compare(options, search.stages, search.query, collect=collect)
    for candidate in found.candidates:
        print(f"{search.name}: {100 * candidate.val_accuracy:.2f} {dict(candidate.query)} {dict(candidate.values)}",
              flush=True)  # fmt: skip
    if search.run["method"] == "ldpgcn":
        return  # its published settings stay; what was found is the default
    setting = setting_of(options, found, search.stages, search.query)
    setting = {key: value for key, value in setting.items() if key not in search.general}
    setting["source"] = SOURCE
    store(STORED / f"{search.run['method']}.toml", setting)


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
