"""PrivGnn's tables for ``docs/results``: ours, the paper's, and the best that the noise allows.

Amazon Computers divided as the paper does. For each K and gamma one set of teachers serves
every lambda, every |Q| and every draw; a draw is fresh noise on the labels and a student of
its own. PATE and the baselines are trained beside them. The rows ``log-posterior`` add the
noise where the paper's published code does, on log-softmax scores: no guarantee. In the rows
``perfect`` no teacher is asked: the noise is put on the truth, surely known, so that no
teachers of the stated algorithm can do better.

    make tables            (or: python -m benchmarks.papers.tables_privgnn [--home DIR] [--workers 2] [--pages-only])

``DIR`` keeps the teachers (1,000 a set: some 15 minutes of one core at K = 300, 45 at 750)
and the results that are done (20 seconds a student): what was stopped goes on there. Every
table says how many draws its means are of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.papers.agreement import published
from benchmarks.papers.index import write_index
from benchmarks.papers.privgnn_page import page
from benchmarks.papers.privgnn_picture import picture
from benchmarks.study import Measured, Row, Study, main, rows_in
from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods.owner.owner import B1, B2, B1Sampled, private_graph
from ldpsim.curator.methods.owner.pate import PateG, PateM
from ldpsim.curator.methods.owner.privgnn import PrivGnn
from ldpsim.curator.owner.privacy.account import LabelRelease, account
from ldpsim.curator.owner.teachers.sage import SageSettings
from ldpsim.curator.owner.teachers.selection import query_order
from ldpsim.curator.owner.teachers.student import train_network
from ldpsim.devices import datasets
from ldpsim.strategies.people.owner_graphs import owned_people, public_graph
from ldpsim.strategies.people.private_and_public import divide
from ldpsim.strategies.runs.teachers import Classroom

LAMBDAS = (0.1, 0.2, 0.4, 0.8, 1.0)
MOST, DRAWS = 1000, 10
DELTA, CLASSES = 1e-4, 10
TRAINING = TrainingSettings(gnn="sage", **PrivGnn.spec.training_defaults)
SETTINGS = SageSettings()
BASELINES = {"b1": B1, "b1-sampled": B1Sampled, "b2": B2}
VOTING = {"pate-g": PateG, "pate-m": PateM}
KEYS = ("method", "K", "gamma", "scores", "queries", "lambda", "draw")
COLUMNS = (*KEYS, "teachers", "pseudo_labels", "ceiling", "accuracy", "paper", "printed", "label", "vector")


@dataclass(frozen=True)
class StudentRun:
    """A student: its labels' method, their number and their noise; ``turn`` is its place in the order of training."""

    method: str
    draw: int
    queries: int = 0
    lambda_: float = 0.0
    neighbours: int = 0
    gamma: float = 0.3
    scores: str = ""
    turn: int = field(default=0, compare=False)

    @property
    def key(self) -> tuple[str, ...]:
        """Values of :data:`KEYS`."""
        if self.method in BASELINES:
            return self.method, "", "", "", "", "", f"{self.draw}"
        ours = (f"{self.neighbours or ''}", f"{self.gamma}", self.scores) if self.method == "privgnn" else ("", "", "")
        return self.method, *ours, f"{self.queries}", f"{self.lambda_}", f"{self.draw}"


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


def run(home: Path, cell: StudentRun) -> dict[str, Any]:
    """Train one student and return its accuracies; ``home`` has the teachers."""
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


def students(draws: int = DRAWS) -> list[StudentRun]:
    """Return the students in the order of the table; every setting is trained once, then come more draws."""
    found = []
    for late, (first, then) in enumerate(zip(_parts(draws, 1, 5), _parts(draws, 1, 3), strict=True)):
        found += list(_with_figures(first, 3 * late))
        found += [*_others(then, 500, 3 * late + 1), *_others(then, MOST, 3 * late + 2)]
    return sorted(found, key=lambda c: (c.method != "privgnn", c.method, c.scores == "log-posterior", -c.gamma,
                                        c.neighbours, c.queries, c.lambda_, c.draw))  # fmt: skip


def _parts(draws: int, *ends: int) -> list[range]:
    """Return the numbers of the draws, divided at these ends."""
    places = [0, *(min(draws, end) for end in ends), draws]
    return [range(start, end) for start, end in zip(places, places[1:], strict=False)]


def _with_figures(draws: Iterable[int], turn: int) -> Iterator[StudentRun]:
    for draw in draws:
        for scores in ("posterior", "log-posterior"):
            for neighbours in (300, 750):
                for lambda_ in LAMBDAS:
                    yield StudentRun("privgnn", draw, MOST, lambda_, neighbours, 0.3, scores, turn)
        for lambda_ in LAMBDAS:
            yield StudentRun("privgnn", draw, MOST, lambda_, 0, 0.3, "perfect", turn)


def _others(draws: Iterable[int], queries: int, turn: int) -> Iterator[StudentRun]:
    settings = ((300, 0.3), (750, 0.3), (300, 0.1)) if queries < MOST else ((300, 0.1),)
    for draw in draws:
        for neighbours, gamma in settings:
            for lambda_ in LAMBDAS:
                yield StudentRun("privgnn", draw, queries, lambda_, neighbours, gamma, "posterior", turn)
        if queries == MOST:
            continue
        for method in VOTING:
            for lambda_ in LAMBDAS:
                yield StudentRun(method, draw, MOST, lambda_, turn=turn)
        for method in BASELINES:
            yield StudentRun(method, draw, turn=turn)


@dataclass(frozen=True)
class Taught(Measured):
    """Results of students; their teachers are trained first, on all processors."""

    def run(self, cells: Sequence[StudentRun], *, workers: int, until: float) -> None:
        """Train the missing teachers, then the missing students."""
        needed: dict[tuple[int, float], int] = {}
        for cell, result in zip(cells, self.found(cells), strict=True):
            if result is None and cell.method == "privgnn" and cell.neighbours:
                key = cell.neighbours, cell.gamma
                needed[key] = max(cell.queries, needed.get(key, 0))
        for (neighbours, gamma), queries in needed.items():
            room = classroom(self.file.parent, neighbours, gamma)
            there = f"{room.trained(queries)} of {queries} teachers are there"
            print(f"K={neighbours}, gamma {gamma:g}: {there}", flush=True)
            room.posteriors(queries, workers=workers)
        super().run(cells, workers=workers, until=until)


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


def rows_of(cell: StudentRun, result: dict[str, Any] | None) -> list[Row]:
    """Return the row of a result, with its setting and its loss."""
    if result is None:
        return []
    full = {**dict(zip(KEYS, cell.key, strict=True)), "paper": paper(cell), **result}
    if cell.method not in BASELINES:
        found = cost(cell.method, cell.queries, cell.lambda_, cell.gamma)
        full["printed"] = found.printed
        if cell.method == "privgnn":
            full["ceiling"] = found.ceiling
        if cell.scores in ("posterior", ""):
            full |= {"label": found.label, "vector": found.vector}
    return [{name: "" if full.get(name) is None else f"{full[name]}" for name in COLUMNS}]


def study(home: Path) -> Study:
    """Return the study."""
    return Study(
        name="privgnn", cells=students(), results=Taught(home / "rows.jsonl", partial(run, home)), keys=KEYS,
        key_of=lambda cell: cell.key, rows_of=rows_of, page=lambda found: page(rows_in(found)), columns=COLUMNS,
        picture="privgnn.png", draw=partial(picture, tuple(BASELINES)),
    )  # fmt: skip


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(__doc__, "tables-privgnn", lambda home: [study(home)], lambda found, where: write_index())
