"""PrivGnn's tables for ``docs/results``: ours, the paper's, and the best that the noise allows.

Amazon Computers divided as the paper does. For each K and gamma one set of teachers serves
every lambda, every |Q| and every draw; a draw is fresh noise on the labels and a student of
its own. PATE and the baselines are trained beside them. The rows ``log-posterior`` add the
noise where the paper's published code does, on log-softmax scores: no guarantee. In the rows
``perfect`` no teacher is asked: the noise is put on the truth, surely known, so that no
teachers of the stated algorithm can do better.

    make tables            (or: python -m benchmarks.papers.tables_privgnn [--home DIR] [--workers 2] [--draws 10])

``DIR`` keeps the teachers (1,000 a set: some 15 minutes of one core at K = 300, 45 at 750)
and the rows that are done (20 seconds a student): what was stopped goes on there. Every
table says how many draws its means are of. ``--only-write`` writes what is there; ``--part
1/2`` and ``--part 2/2`` divide the students among two processes that share ``DIR``. Writes
privgnn.csv, privgnn.png and privgnn.md beside the other results.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import RESULTS
from benchmarks.papers import privgnn_page
from benchmarks.papers.agreement import published
from benchmarks.papers.index import write_index
from benchmarks.papers.privgnn_picture import picture
from curator.learning.training import TrainingSettings
from curator.methods.owner.owner import B1, B2, B1Sampled, private_graph
from curator.methods.owner.pate import PateG, PateM
from curator.methods.owner.privgnn import PrivGnn
from curator.privacy.accountant import LabelRelease, account
from curator.teachers.sage import SageSettings
from curator.teachers.selection import query_order
from curator.teachers.student import train_network
from devices import datasets
from strategies.people.owner_graphs import owned_people, public_graph
from strategies.people.private_and_public import divide
from strategies.runs.teachers import Classroom

LAMBDAS = (0.1, 0.2, 0.4, 0.8, 1.0)
MOST = 1000
DELTA, CLASSES = 1e-4, 10
TRAINING = TrainingSettings(gnn="sage", **PrivGnn.training_defaults)
SETTINGS = SageSettings()
BASELINES = {"b1": B1, "b1-sampled": B1Sampled, "b2": B2}
VOTING = {"pate-g": PateG, "pate-m": PateM}
COLUMNS = ("method", "K", "gamma", "scores", "queries", "lambda", "draw", "teachers", "pseudo_labels", "ceiling",
           "accuracy", "paper", "printed", "label", "vector")  # fmt: skip


@dataclass(frozen=True)
class StudentRun:
    """A student: its labels' method, their number and their noise."""

    method: str
    draw: int
    queries: int = 0
    lambda_: float = 0.0
    neighbours: int = 0
    gamma: float = 0.3
    scores: str = ""


class Data:
    """The two graphs, the nodes that may be asked about, and the seeds of the samples and the teachers."""

    noise_seed, training_seed = 1, 2

    def __init__(self) -> None:
        population = datasets.load("computers")
        division = divide(population, 0)
        self.owned = owned_people(population, division)
        self.private = private_graph(self.owned)
        self.public = public_graph(population, division, labelled=True)
        self.asked = np.searchsorted(division.public, division.asked)
        self.scored = np.searchsorted(division.public, division.scored)
        self.truth = population.labels[division.public]
        self.order = query_order(self.public, self.asked, "random", seed=0)

    def seeds(self, draw: int) -> tuple[int, int]:
        """Seeds of a draw's noise and student."""
        return self.noise_seed + 1000 * draw, self.training_seed + 1000 * draw


@lru_cache(maxsize=1)
def data() -> Data:
    """Return the data, loaded once a process."""
    return Data()


def classroom(home: Path, neighbours: int, gamma: float) -> Classroom:
    """Return the room of the teachers of a K and a gamma."""
    found = data()
    teaching = PrivGnn(K=neighbours, gamma=gamma).teaching(
        TRAINING, classes=CLASSES, noise_seed=found.noise_seed, training_seed=found.training_seed
    )
    return Classroom.open(home, found.private, found.public, teaching, found.order)


@lru_cache(maxsize=2)
def votes(method: str) -> Any:
    """Return the teachers' counts for the first queries."""
    found = data()
    return VOTING[method]().votes(found.private, found.public, found.order[:MOST], SETTINGS, classes=CLASSES,
                                  noise_seed=found.noise_seed, training_seed=found.training_seed)  # fmt: skip


def run(task: tuple[Path, StudentRun]) -> dict[str, Any]:
    """Train one student and return its accuracies."""
    home, cell = task
    torch.set_num_threads(1)
    found = data()
    noise_seed, training_seed = found.seeds(cell.draw)
    if cell.method in BASELINES:
        student = BASELINES[cell.method]().predictions(
            found.owned, found.public, found.asked, SETTINGS, classes=CLASSES, seed=training_seed
        )
        return {"accuracy": accuracy(student.predictions, found)}
    if cell.method == "privgnn":
        method: Any = PrivGnn(lambda_=cell.lambda_)
        if cell.scores == "perfect":
            values = np.eye(CLASSES)[found.truth[found.order[: cell.queries]]]
        else:
            method = PrivGnn(lambda_=cell.lambda_, scores=cell.scores)
            values = classroom(home, cell.neighbours, cell.gamma).posteriors(cell.queries, workers=1)
    else:
        method, values = VOTING[cell.method](lambda_=cell.lambda_), votes(cell.method)[: cell.queries]
    labels = method.labels(values, noise_seed=noise_seed)
    nodes = found.order[: cell.queries]
    student = train_network(found.public, nodes, labels, CLASSES, SETTINGS, seed=training_seed)
    return {
        "teachers": float(np.mean(values.argmax(1) == found.truth[nodes])),
        "pseudo_labels": float(np.mean(labels == found.truth[nodes])),
        "accuracy": accuracy(student.predictions, found),
    }


def accuracy(predictions: Any, found: Data) -> float:
    """Share of the scored public nodes that is right."""
    return float(np.mean(predictions[found.scored] == found.truth[found.scored]))


def stages(draws: int) -> list[list[StudentRun]]:
    """Return the students in the order of training: every setting once, then more draws."""
    everywhere = [range(min(draws, 1)), range(1, min(draws, 3)), range(min(draws, 3), draws)]
    in_the_paper = [range(min(draws, 1)), range(1, min(draws, 5)), range(min(draws, 5), draws)]
    return [
        list(stage)
        for first, then in zip(in_the_paper, everywhere, strict=True)
        for stage in (_with_figures(first), _others(then, 500), _others(then, MOST))
    ]


def _with_figures(draws: Iterable[int]) -> Iterator[StudentRun]:
    for draw in draws:
        for scores in ("posterior", "log-posterior"):
            for neighbours in (300, 750):
                for lambda_ in LAMBDAS:
                    yield StudentRun("privgnn", draw, MOST, lambda_, neighbours, 0.3, scores)
        for lambda_ in LAMBDAS:
            yield StudentRun("privgnn", draw, MOST, lambda_, 0, 0.3, "perfect")


def _others(draws: Iterable[int], queries: int) -> Iterator[StudentRun]:
    settings = ((300, 0.3), (750, 0.3), (300, 0.1)) if queries < MOST else ((300, 0.1),)
    for draw in draws:
        for neighbours, gamma in settings:
            for lambda_ in LAMBDAS:
                yield StudentRun("privgnn", draw, queries, lambda_, neighbours, gamma, "posterior")
        if queries == MOST:
            continue
        for method in VOTING:
            for lambda_ in LAMBDAS:
                yield StudentRun(method, draw, MOST, lambda_)
        for method in BASELINES:
            yield StudentRun(method, draw)


class Done:
    """The finished rows, a line each in a file that only grows."""

    def __init__(self, home: Path) -> None:
        self.path = home / "rows.jsonl"
        self.found: dict[StudentRun, dict[str, Any]] = {}
        for line in self.path.read_text().splitlines() if self.path.is_file() else ():
            entry = json.loads(line)
            self.found[StudentRun(**entry["cell"])] = entry["row"]

    def add(self, cell: StudentRun, row: dict[str, Any]) -> None:
        self.found[cell] = row
        with self.path.open("a") as file:
            file.write(json.dumps({"cell": asdict(cell), "row": row}) + "\n")


@cache
def cost(method: str, queries: int, lambda_: float, gamma: float) -> Any:
    """Return a release's account."""
    return account(method, LabelRelease(queries=queries, lambda_=lambda_, delta=DELTA, classes=CLASSES, gamma=gamma,
                                   nodes=2500))  # fmt: skip


def paper(cell: StudentRun) -> float | None:
    """Return the published accuracy of a cell's setting, None if there is none."""
    key = ("computers", cell.neighbours, cell.queries, cell.gamma, cell.lambda_)
    for line in published("privgnn"):
        if cell.method == "privgnn" and key == (
            line["dataset"], int(line["K"]), int(line["queries"]), float(line["gamma"]), float(line["lambda"])
        ):  # fmt: skip
            return float(line["accuracy"])
    return None


def whole(cell: StudentRun, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its setting and its loss."""
    full = {"method": cell.method, "draw": cell.draw, "paper": paper(cell), **row}
    if cell.method in BASELINES:
        return full
    found = cost(cell.method, cell.queries, cell.lambda_, cell.gamma)
    full |= {"queries": cell.queries, "lambda": cell.lambda_, "printed": found.printed.epsilon}
    if cell.method == "privgnn":
        full |= {"K": cell.neighbours or None, "gamma": cell.gamma, "scores": cell.scores, "ceiling": found.ceiling}
    if cell.scores in ("posterior", ""):
        full |= {"label": found.holds.label, "vector": found.holds.vector}
    return full


def write(done: Done, draws: int) -> None:
    """Write privgnn.csv, privgnn.png and privgnn.md from the finished rows."""
    order = sorted(
        (cell for stage in stages(draws) for cell in stage if cell in done.found),
        key=lambda c: (c.method != "privgnn", c.method, c.scores == "log-posterior", -c.gamma, c.neighbours, c.queries,
                       c.lambda_, c.draw),
    )  # fmt: skip
    rows = [whole(cell, done.found[cell]) for cell in order]
    with (RESULTS / "privgnn.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    picture(rows, tuple(BASELINES), RESULTS / "privgnn.png")
    privgnn_page.write()
    write_index()


def _part(text: str) -> tuple[int, int]:
    number, _, parts = text.partition("/")
    return int(number), int(parts)


def main() -> None:
    """Train the missing students and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=Path("runs/tables-privgnn"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--part", type=_part, default=(1, 1), metavar="I/N")
    parser.add_argument("--only-write", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.home.mkdir(parents=True, exist_ok=True)
    done = Done(given.home)
    for stage in [] if given.only_write else stages(given.draws):
        missing = [cell for cell in stage[given.part[0] - 1 :: given.part[1]] if cell not in done.found]
        needed: dict[tuple[int, float], int] = {}
        for cell in missing:
            if cell.method == "privgnn" and cell.neighbours:
                key = cell.neighbours, cell.gamma
                needed[key] = max(cell.queries, needed.get(key, 0))
        for (neighbours, gamma), queries in needed.items():
            room = classroom(given.home, neighbours, gamma)
            there = f"{room.trained(queries)} of {queries} teachers are there"
            print(f"K={neighbours}, gamma {gamma:g}: {there}", flush=True)
            room.posteriors(queries, workers=given.workers)
        with ProcessPoolExecutor(given.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            futures = {pool.submit(run, (given.home, cell)): cell for cell in missing}
            for future in as_completed(futures):
                done.add(futures[future], future.result())
                print(futures[future], done.found[futures[future]], flush=True)
    write(Done(given.home), given.draws)


if __name__ == "__main__":
    main()
