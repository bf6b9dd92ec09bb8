"""Runs of ``docs/results/who-is-trusted.md``: a person's epsilon against accuracy, by who must be trusted.

    python -m benchmarks.papers.who_is_trusted [--dataset cora ...] [--method vote ...] [--volunteers .1]

One run has several figures: of the curator, of the devices, and of the devices whose friends tell them a guess. Those
without reports depend on no epsilon, so that one of the runs of a seed takes them. A finished run is a row of
``docs/results/who-is-trusted.csv`` and is not done again. Figures of accuracy are in percent.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from benchmarks import RESULTS
from benchmarks.papers.cell import cell_options
from benchmarks.study import read_rows, write_rows
from ldpsim.strategies import RunOptions, simulate

TABLE = RESULTS / "who-is-trusted.csv"
FIRST_SEED = 2000
SHARES = (0.1, 0.01)  # of volunteers
EPSILONS = (4.0, 1.0, 2.0, 8.0)  # of a person; the first run of a seed has the figures without reports
SEEDS = {  # by method and data set; a device of ``secure-sum`` draws noise for each pair of feature and class
    "vote": {"cora": 10, "citeseer": 10, "generated": 10, "twitch-de": 5, "pubmed": 5, "flickr": 5, "facebook": 5,
             "coauthor-cs": 5},
    "secure-sum": {"cora": 10, "generated": 10, "pubmed": 5, "citeseer": 5, "twitch-de": 5, "facebook": 3, "flickr": 3,
                   "coauthor-cs": 3},
}  # fmt: skip
TELLING = (0.5, 0.1)  # shares of the people who tell, beside all
COSTLY = ("twitch-de", "facebook", "flickr", "coauthor-cs")  # for ``secure-sum``: the first two epsilons alone
DATA = tuple(SEEDS["vote"])
KEYS = ("dataset", "volunteers", "method", "epsilon", "told", "share", "seed")  # name a row


def main() -> None:
    """Do what has no row yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", nargs="+", choices=DATA, default=DATA)
    parser.add_argument("--method", nargs="+", choices=tuple(SEEDS), default=tuple(SEEDS))
    parser.add_argument("--volunteers", nargs="+", type=float, choices=SHARES, default=SHARES)
    arguments = parser.parse_args()
    rows = {tuple(row[key] for key in KEYS): row for row in read_rows(TABLE)}
    for options in runs():
        key = tuple(keys_of(options).values())
        chosen = options.dataset in arguments.dataset and options.method in arguments.method
        if chosen and options.volunteers in arguments.volunteers and key not in rows:
            rows[key] = row_of(options, simulate(options).record)
            write_rows(TABLE, rows.values())


def runs() -> Iterator[RunOptions]:
    """Yield the runs."""
    for method, seeds_of in SEEDS.items():
        for dataset, seeds in seeds_of.items():
            for share in SHARES:
                for seed in range(FIRST_SEED, FIRST_SEED + seeds):
                    yield from runs_of(method, dataset, share, seed)


def runs_of(method: str, dataset: str, share: float, seed: int) -> Iterator[RunOptions]:
    """Yield the runs of a seed: by epsilon; on Cora also with labels that are told, and with fewer people who tell."""
    first = cell_options(method, dataset, volunteers=share, private_labels=method == "vote", repeats=1, groups=False,
                         seed=seed, epsilon=EPSILONS[0])  # fmt: skip
    for epsilon in EPSILONS[:2] if method == "secure-sum" and dataset in COSTLY else EPSILONS:
        yield replace(first, epsilon=epsilon, nulls=method == "vote" and epsilon == EPSILONS[0])
    if method == "vote" and dataset == "cora":
        yield replace(first, friends_tell="label", nulls=True)
        yield from (replace(first, epsilon=2.0, friends_share=part, nulls=True) for part in TELLING)


def keys_of(options: RunOptions) -> dict[str, str]:
    """Return what names the row of a run."""
    return {"dataset": options.dataset, "volunteers": f"{options.volunteers:g}", "method": options.method,
            "epsilon": f"{options.epsilon:g}", "told": options.friends_tell,
            "share": f"{options.friends_share:g}", "seed": f"{options.seed}"}  # fmt: skip


def row_of(options: RunOptions, record: Mapping[str, Any]) -> dict[str, str]:
    """Return the row of a run."""
    accuracy, nulls, person = record["accuracy"], record["nulls"] or {}, record["privacy"]["holds"]["user"]
    figures = {name: accuracy[name] for name in ("curator", "device", "device_with_friends")}
    figures |= {name: nulls.get(name, {}).get("test") for name in ("device_alone", "device_alone_with_friends")}
    return {
        **keys_of(options),
        **{name: "" if share is None else f"{100 * share:.2f}" for name, share in figures.items()},
        "person": f"{person['value']}", "delta": f"{person['delta']:g}", "config_hash": record["config_hash"],
    }  # fmt: skip


if __name__ == "__main__":
    main()
