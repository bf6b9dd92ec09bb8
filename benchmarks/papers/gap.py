"""GAP and ProGAP: accuracy beside the public code's, and what an owner is worth against asking everybody once.

    python -m benchmarks.papers.gap [--only oracle] [--pages-only]

Two parts. ``oracle`` has the settings of the public code: 75/10/15 splits, the noise of one arc by Rényi divergences,
the best epoch. ``trust`` has ours: the splits and seeds of docs/results/vote.csv (2000 and up), the noise of an
undirected edge or of a person, and the last epoch at the node level. Nobody is asked by devices here: the owner's work
is called on the people's data, which gives what a run gives where everybody hands the record over. ``hops=0`` is the
network without a graph, as private as its level asks for; an epsilon of ``none`` is the same work without noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.gap_page import draw, page
from benchmarks.study import Found, Measured, Row, Study, main
from ldpsim.devices.mechanisms import round_up

ORACLE, TRUST = "oracle", "trust"
NO_NOISE = "none"
BOTH = ("gap", "progap")
NAME = "gap"
PICTURE = "figures/trust-or-ask.png"
SMALL, LARGE = ("cora", "citeseer", "generated"), ("pubmed", "facebook")
SEEDS = 10
DELTAS = {"cora": 1e-5, "citeseer": 1e-4}  # of the oracle, at the edge level
NODE_DELTA = 1e-4


@dataclass(frozen=True)
class GapCell:
    """One training.

    Args:
        part: ``oracle`` or ``trust``.
        dataset, method, level, hops, epsilon, seed: Of the training; ``epsilon`` may be ``none``.
    """

    part: str
    dataset: str
    method: str
    level: str
    hops: int
    epsilon: str
    seed: int

    @property
    def turn(self) -> int:
        """Place in the order of the runs: small data first, and three seeds of everything before the rest."""
        late = 100 * (self.dataset in LARGE) + 30 * (self.dataset != "cora")
        return late + self.seed % 1000 + (10 if self.seed % 1000 > 2 else 0)


def _cells() -> Iterator[GapCell]:
    for number in range(SEEDS):
        for dataset in DELTAS:
            for epsilon in ("1", "4", "8", NO_NOISE):
                yield GapCell(ORACLE, dataset, "gap", "edge", 2, epsilon, number)
            yield GapCell(ORACLE, dataset, "gap", "edge", 0, NO_NOISE, number)
        for epsilon in ("1", "4", "8", NO_NOISE):
            yield GapCell(ORACLE, "cora", "progap", "edge", 2, epsilon, number)
        for epsilon in ("4", "8", "16"):
            yield GapCell(ORACLE, "cora", "gap", "node", 2, epsilon, number)
            yield GapCell(ORACLE, "cora", "gap", "node", 0, epsilon, number)
        yield GapCell(ORACLE, "cora", "progap", "node", 2, "8", number)
        for dataset in (*SMALL, *LARGE):
            seed = 2000 + number
            for method in BOTH:
                for epsilon in ("2", "4", "8", "16"):
                    yield GapCell(TRUST, dataset, method, "edge", 2, epsilon, seed)
                for epsilon in ("4", "8", "16"):
                    yield GapCell(TRUST, dataset, method, "node", 2, epsilon, seed)
                yield GapCell(TRUST, dataset, method, "edge", 2, NO_NOISE, seed)
            yield GapCell(TRUST, dataset, "gap", "edge", 0, NO_NOISE, seed)
            for epsilon in ("4", "8", "16"):
                yield GapCell(TRUST, dataset, "gap", "node", 0, epsilon, seed)


CELLS = tuple(_cells())


@cache
def _population(dataset: str, seed: int) -> Any:
    from ldpsim.strategies.setup.options import RunOptions
    from ldpsim.strategies.setup.run_setup import load_population

    return load_population(RunOptions(dataset=dataset, clients=3000 if dataset == "generated" else None, seed=seed))


def run(cell: GapCell) -> dict[str, str]:
    """Train a cell and return its row."""
    import torch

    from ldpsim.curator.learning.training import TrainingSettings
    from ldpsim.curator.methods import find
    from ldpsim.curator.owner.aggregation.sums import HandedLists
    from ldpsim.curator.owner.aggregation.training import Learners
    from ldpsim.devices.data.splits import make_split
    from ldpsim.strategies.people.owned_graph import sparse_features
    from ldpsim.strategies.setup.options import RunOptions

    torch.set_num_threads(1)
    drawn = cell.dataset == "generated"
    people = _population(cell.dataset, cell.seed if drawn else 0)
    if cell.part == ORACLE:
        order = np.random.default_rng(cell.seed).permutation(np.flatnonzero(people.labels >= 0))
        train, val, test = np.split(order, [int(0.75 * len(order)), int(0.85 * len(order))])
        given: dict[str, Any] = {"accountant": "rdp", "keep": "best", "edges": "arc",
                 "delta": NODE_DELTA if cell.level == "node" else DELTAS[cell.dataset]}  # fmt: skip
        seeds = (cell.seed, cell.seed, cell.seed)
    else:
        chosen = RunOptions(seed=cell.seed).seeds_of(0)
        split = make_split("random", people, chosen.split)
        train, val, test = split.train, split.val, split.test
        given = {"keep": "last" if cell.level == "node" else "best"}
        seeds = (chosen.split, cell.seed, chosen.training)
    kind: Any = find(cell.method)
    method = kind(level=cell.level, hops=cell.hops, **given)
    settings = TrainingSettings(gnn=method.spec.default_gnn, **method.in_force().training_defaults)
    noise = cell.epsilon != NO_NOISE
    released = method.release(people=len(people), training=len(train), epochs=settings.epochs,
                              epsilon=float(cell.epsilon) if noise else 8.0)  # fmt: skip
    senders = np.repeat(np.arange(len(people)), np.diff(people.neighbour_indptr))
    data = HandedLists(sparse_features(people), people.labels, senders, people.neighbour_indices.astype(np.int64))
    found, _ = method.learn(
        data, Learners(people.labels, train, val), released, settings, classes=people.facts.classes,
        order_seed=seeds[0], noise_seed=seeds[1], seed=seeds[2], noise=noise,
    )  # fmt: skip
    held = (released.claimed, released.relationship, released.joins, released.replaced) if noise else (None,) * 4
    named = dict(zip(("claimed", "relationship", "person_joins", "person_replaced"), held, strict=True))
    return {
        "accuracy": f"{np.mean(found[test] == people.labels[test]):.5f}",
        **{name: "" if value is None else str(round_up(value)) for name, value in named.items()},
        "noise": f"{released.multiplier:.6f}" if noise else "0",
        "delta": f"{released.asked.delta:g}" if noise else "",
    }


KEYS = ("part", "dataset", "method", "level", "hops", "epsilon", "seed")


def studies(home: Path) -> Sequence[Study]:
    """Return the study."""

    def key_of(cell: GapCell) -> tuple[str, ...]:
        return tuple(str(getattr(cell, name)) for name in KEYS)

    def rows_of(cell: GapCell, result: Mapping[str, str] | None) -> list[Row]:
        return [] if result is None else [{**dict(zip(KEYS, key_of(cell), strict=True)), **result}]

    return [Study(NAME, CELLS, Measured(home / "gap.jsonl", run), KEYS, key_of, rows_of, None, picture=PICTURE,
                  draw=draw)]  # fmt: skip


def write_page(found: Mapping[str, Found], where: Path) -> None:
    """Write the page of all rows."""
    (where / "trust-or-ask.md").write_text(page(found[NAME]))


if __name__ == "__main__":
    main(__doc__, NAME, studies, write_page)
