"""PrivGnn's tables for ``docs/results``: ours, the paper's, and what each label may be worth at best.

Amazon Computers divided as the paper does. For each K and gamma one set of teachers serves
every lambda and every |Q|; students, PATE and the baselines are trained for each cell. Beside
every accuracy stands that of the pseudo-labels and its ceiling, the probability A(c, lambda)
that noise leaves a perfectly sure teacher's label alone. The rows ``log-posterior`` add the
noise where the paper's published code does, on log-softmax scores: no guarantee.

    python benchmarks/tables_privgnn.py --home DIR [--workers 2] [--cells 300:1000 750:500] [--repeats 1]

``DIR`` keeps the teachers: a run that was stopped goes on there. Writes privgnn.csv and
privgnn.png beside the other results.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from curator.accountant import Release, account
from curator.methods.owner import B1, B2, B1Sampled, private_graph
from curator.methods.pate import PateG, PateM
from curator.methods.privgnn import PrivGnn
from curator.teachers.sage import SageSettings
from curator.teachers.selection import query_order
from curator.teachers.student import train_network
from curator.training import TrainingSettings
from devices import datasets
from strategies.dividing import divide
from strategies.owner_run import owned_people, public_graph
from strategies.teaching import Classroom

HERE = Path(__file__).parent
RESULTS = HERE.parent / "docs" / "results"
LAMBDAS = (0.1, 0.2, 0.4, 0.8, 1.0)
DELTA, CLASSES = 1e-4, 10
TRAINING = TrainingSettings(gnn="sage", **PrivGnn.training_defaults)
SETTINGS = SageSettings()


@dataclass(frozen=True)
class Cell:
    """One student: whose labels, how many, with how much noise."""

    method: str
    repeat: int
    queries: int = 0
    lambda_: float = 0.0
    neighbours: int = 0
    gamma: float = 0.3
    scores: str = ""


class Data:
    """The two graphs of a repeat and who is asked."""

    def __init__(self, repeat: int) -> None:
        population = datasets.load("computers")
        division = divide(population, repeat)
        self.owned = owned_people(population, division)
        self.private = private_graph(self.owned)
        self.public = public_graph(population, division, labelled=True)
        self.asked = np.searchsorted(division.public, division.asked)
        self.scored = np.searchsorted(division.public, division.scored)
        self.truth = population.labels[division.public]
        self.order = query_order(self.public, self.asked, "random", seed=repeat)
        self.noise_seed, self.training_seed = 2 * repeat + 1, 2 * repeat + 2


@lru_cache(maxsize=1)
def data(repeat: int) -> Data:
    """Return the data of a repeat, loaded once a process."""
    return Data(repeat)


def classroom(home: Path, cell: Cell) -> Classroom:
    """Return where a cell's teachers are."""
    found = data(cell.repeat)
    method = PrivGnn(K=cell.neighbours, gamma=cell.gamma)
    teaching = method.teaching(TRAINING, classes=CLASSES, noise_seed=found.noise_seed,
                               training_seed=found.training_seed)  # fmt: skip
    return Classroom.open(home, found.private, found.public, teaching, found.order)


@lru_cache(maxsize=2)
def votes(kind: type[PateG] | type[PateM], repeat: int) -> Any:
    """Return the teachers' counts for every public node that may be asked about, in order."""
    found = data(repeat)
    return kind().votes(found.private, found.public, found.order, SETTINGS, classes=CLASSES,
                        noise_seed=found.noise_seed, training_seed=found.training_seed)  # fmt: skip


def run(task: tuple[Path, Cell]) -> dict[str, Any]:
    """Train one cell's student and return its row."""
    home, cell = task
    torch.set_num_threads(1)
    found = data(cell.repeat)
    row: dict[str, Any] = {"method": cell.method, "repeat": cell.repeat}
    if cell.method in ("b1", "b1-sampled", "b2"):
        kind = {"b1": B1, "b1-sampled": B1Sampled, "b2": B2}[cell.method]
        student = kind().predictions(found.owned, found.public, found.asked, SETTINGS, classes=CLASSES,
                                     seed=found.training_seed)  # fmt: skip
        return {**row, "accuracy": accuracy(student.predictions, found)}
    release = Release(queries=cell.queries, lambda_=cell.lambda_, delta=DELTA, classes=CLASSES, gamma=cell.gamma,
                      nodes=len(found.private))  # fmt: skip
    cost = account(cell.method, release)
    if cell.method == "privgnn":
        method: Any = PrivGnn(lambda_=cell.lambda_, scores=cell.scores)
        values = classroom(home, cell).posteriors(cell.queries, workers=1)
        row |= {"K": cell.neighbours, "gamma": cell.gamma, "scores": cell.scores, "ceiling": cost.ceiling}
    else:
        kind_of = PateG if cell.method == "pate-g" else PateM
        method, values = kind_of(lambda_=cell.lambda_), votes(kind_of, cell.repeat)[: cell.queries]
    labels = method.labels(values, noise_seed=found.noise_seed)
    nodes = found.order[: cell.queries]
    student = train_network(found.public, nodes, labels, CLASSES, SETTINGS, seed=found.training_seed)
    open_ = cell.scores == "log-posterior"
    return {
        **row, "queries": cell.queries, "lambda": cell.lambda_,
        "teachers": float(np.mean(values.argmax(1) == found.truth[nodes])),
        "pseudo_labels": float(np.mean(labels == found.truth[nodes])),
        "accuracy": accuracy(student.predictions, found),
        "printed": cost.printed.epsilon, "label": None if open_ else cost.holds.label,
        "vector": None if open_ else cost.holds.vector,
    }  # fmt: skip


def accuracy(predictions: Any, found: Data) -> float:
    """Share of the scored public nodes that is right."""
    return float(np.mean(predictions[found.scored] == found.truth[found.scored]))


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield what is trained, the cheap comparisons last."""
    for repeat in range(given.repeats):
        for neighbours, most in given.cells:
            for gamma in given.gamma:
                for queries in sorted({min(500, most), most}):
                    for lambda_ in LAMBDAS:
                        yield Cell("privgnn", repeat, queries, lambda_, neighbours, gamma, "posterior")
                if gamma == given.gamma[0]:
                    for lambda_ in LAMBDAS:
                        yield Cell("privgnn", repeat, most, lambda_, neighbours, gamma, "log-posterior")
        for method in ("b1", "b1-sampled", "b2"):
            yield Cell(method, repeat)
        for method in ("pate-g", "pate-m"):
            for lambda_ in LAMBDAS:
                yield Cell(method, repeat, 1000, lambda_)


def paper(row: dict[str, Any]) -> float | None:
    """Return the published accuracy of a row's setting, None where there is none."""
    with (HERE / "published" / "privgnn.csv").open() as file:
        for line in csv.DictReader(file):
            key = (int(line["K"]), int(line["queries"]), float(line["gamma"]), float(line["lambda"]))
            if row["method"] == "privgnn" and key == (row["K"], row["queries"], row["gamma"], row["lambda"]):
                return float(line["accuracy"])
    return None


COLUMNS = ("method", "K", "gamma", "scores", "queries", "lambda", "repeat", "teachers", "pseudo_labels", "ceiling",
           "accuracy", "paper", "printed", "label", "vector")  # fmt: skip


def picture(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw accuracy against the epsilon that holds for the label."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2))
    groups: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row.get("label") is not None:
            name = f"PrivGnn K={row['K']}, {row['queries']} queries" if row["method"] == "privgnn" else row["method"]
            groups.setdefault(name, []).append((row["label"], row["accuracy"]))
    for name, points in groups.items():
        axes.plot(*zip(*sorted(points), strict=True), marker="o", markersize=4, label=name)
    for method, style in (("b1", "--"), ("b1-sampled", ":"), ("b2", "-.")):
        values = [row["accuracy"] for row in rows if row["method"] == method]
        if values:
            label = f"{method}, no privacy"
            axes.axhline(float(np.mean(values)), color="0.5", linestyle=style, linewidth=1, label=label)
    axes.set_xscale("log")
    axes.set_xlabel("epsilon that holds for a person, labels released (delta 1e-4)")
    axes.set_ylabel("accuracy of the student")
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def _cell(text: str) -> tuple[int, int]:
    neighbours, _, queries = text.partition(":")
    return int(neighbours), int(queries)


def main() -> None:
    """Train what is missing and write the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cells", type=_cell, nargs="*", default=[(300, 1000), (750, 1000)], metavar="K:QUERIES")
    parser.add_argument("--gamma", type=float, nargs="*", default=[0.3])
    parser.add_argument("--repeats", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(1)
    for repeat in range(given.repeats):
        for neighbours, most in given.cells:
            for gamma in given.gamma:
                room = classroom(given.home, Cell("privgnn", repeat, neighbours=neighbours, gamma=gamma))
                print(f"K={neighbours}, gamma {gamma:g}: {room.trained(most)} of {most} teachers are there", flush=True)
                room.posteriors(most, workers=given.workers)
    rows = []
    with ProcessPoolExecutor(given.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for row in pool.map(run, [(given.home, cell) for cell in cells(given)]):
            row["paper"] = paper(row)
            rows.append(row)
            shown = {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}
            print(shown, flush=True)
    with (RESULTS / "privgnn.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    picture(rows, RESULTS / "privgnn.png")


if __name__ == "__main__":
    main()
