"""Teachers in the rotated basis beside teachers in the given one: same samples, weights and masks, ten seeds.

A seed divides Amazon Computers, draws the samples and the initial weights. It compares
the share of queries that the teachers have right before noise, so a seed's two figures
differ by the basis alone. Writes docs/results/privgnn-rotated.csv; a seed in that file
with as many queries is not trained again.

    python -m benchmarks.papers.rotated_basis [--seeds 10] [--asked 300:40 750:12] [--workers 2]
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import torch

from benchmarks import RESULTS
from curator.methods.owner.owner import private_graph
from curator.teachers.answering import Teaching, posteriors
from curator.teachers.sage import BASES, SageSettings
from curator.teachers.selection import query_order
from devices import datasets
from strategies.people.owner_graphs import owned_people, public_graph
from strategies.people.private_and_public import divide

PATH = RESULTS / "privgnn-rotated.csv"
COLUMNS = ("K", "seed", "queries", *BASES, "same_label")


def compare(task: tuple[int, int, int]) -> dict[str, float]:
    """Train the teachers of a seed in both bases; return how many of their answers are right and how many agree."""
    size, seed, queries = task
    torch.set_num_threads(1)
    population = datasets.load("computers")
    division = divide(population, seed)
    private = private_graph(owned_people(population, division))
    public = public_graph(population, division, labelled=True)
    candidates = np.searchsorted(division.public, division.asked)
    nodes = query_order(public, candidates, "random", seed=seed)[:queries]
    teaching = Teaching(classes=10, neighbours=size, noise_seed=2 * seed + 1, training_seed=2 * seed + 2)
    said = {
        basis: posteriors(private, public, list(enumerate(nodes.tolist())),
                          replace(teaching, settings=SageSettings(basis=basis))).argmax(1)
        for basis in BASES
    }  # fmt: skip
    right = {basis: float(np.mean(labels == public.labels[nodes])) for basis, labels in said.items()}
    same = float(np.mean(said["given"] == said["rotated"]))
    return {"K": size, "seed": seed, "queries": queries, **right, "same_label": same}


def there() -> list[dict[str, float]]:
    """Return the kept rows."""
    if not PATH.is_file():
        return []
    with PATH.open() as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def write(found: Sequence[dict[str, float]]) -> None:
    """Write the rows, sorted."""
    with PATH.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for row in sorted(found, key=lambda row: (row["K"], row["seed"])):
            writer.writerow({key: f"{value:g}" for key, value in row.items()})


def _asked(text: str) -> tuple[int, int]:
    size, _, queries = text.partition(":")
    return int(size), int(queries)


def main() -> None:
    """Train the missing teachers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--asked", type=_asked, nargs="*", default=[(300, 40), (750, 12)], metavar="K:QUERIES")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    wanted = [(size, seed, queries) for size, queries in given.asked for seed in range(given.seeds)]
    found = [row for row in there() if (row["K"], row["seed"], row["queries"]) in wanted]
    missing = [task for task in wanted if task not in {(row["K"], row["seed"], row["queries"]) for row in found}]
    with ProcessPoolExecutor(given.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for row in pool.map(compare, missing):
            found.append(row)
            write(found)
            print(row, flush=True)


if __name__ == "__main__":
    main()
