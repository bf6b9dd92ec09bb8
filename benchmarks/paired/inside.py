"""Parts of ``sbp``: accuracy of each component alone and of the pool without it, and calibration of edges and classes.

    python -m benchmarks.paired.inside cora citeseer --budgets 3 --seeds 2000-2009 [--home DIR]

Rows go to ``rows.csv`` below ``--home``, the bins to ``calibration.csv`` there. The reports are those of the cells
of :mod:`benchmarks.paired.run`, which are read if they were kept.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.special import softmax

from benchmarks.paired.calibration import Calibration, calibration, write_bins
from benchmarks.paired.cells import PUBLIC, sbp
from benchmarks.paired.measure import Cell, asked_once
from benchmarks.paired.rows import Row, append, read_rows
from benchmarks.paired.run import ROWS, seeds_of
from curator.graph import Graph
from curator.learning.graph_components import BY_HEART
from curator.learning.pool import fit_pool
from curator.methods.local.sbp import PosteriorGraph
from curator.posterior.estimate import Estimate
from devices.array_types import BoolArray, DoubleArray
from devices.data.population import Population
from strategies.results import evaluation
from strategies.setup.run_setup import load_population

BINS = "calibration.csv"
ALONE, WITHOUT = "sbp: {} alone", "sbp: pool without {}"
EDGES, CLASSES = "edges", "classes"


@dataclass(frozen=True, eq=False)
class Inside:
    """Parts of one estimate beside its answer.

    Args:
        rows: Accuracy of its parts.
        edges: Probability of each pair of S, and whether it is an edge.
        missed: Edges that are no pair of S.
        classes: Probability of the answered class of each test person, and whether it is right.
    """

    rows: tuple[Row, ...]
    edges: tuple[DoubleArray, BoolArray] = field(repr=False)
    missed: int
    classes: tuple[DoubleArray, BoolArray] = field(repr=False)


def inside(dataset: str, epsilon: float, seed: int, population: Population, home: Path | None = None) -> Inside:
    """Return the parts of the estimate of one cell with public features."""
    curator = sbp(dataset, epsilon=epsilon, public_features=True)
    base, trial, setup = asked_once(Cell(PUBLIC, f"{epsilon:g}", (curator,)), seed, population, home)
    graph = trial.reconstruct(setup.method)
    assert isinstance(graph, PosteriorGraph) and graph.estimate is not None
    found = graph.estimate
    parts: dict[str, DoubleArray] = {}
    for name, scores in found.components.items():
        parts[ALONE.format(name)] = scores
        if len(found.components) > 1:
            parts[WITHOUT.format(name)] = _pool_without(name, found, graph)
    rows = []
    for name, scores in parts.items():
        score = evaluation.accuracy(scores.argmax(axis=1), population, trial.split)
        rows.append(replace(base, method=name, test=100 * (score["test"] or 0.0), val=100 * (score["val"] or 0.0)))
    pairs, n = found.model.pairs, len(population)
    keys = pairs.left.astype(np.int64) * n + pairs.right
    true = population.edges.min(axis=0) * n + population.edges.max(axis=0)
    test = trial.split.test
    chances = softmax(found.answer.log_probability[test], axis=1)
    right = chances.argmax(axis=1) == population.labels[test]
    return Inside(
        tuple(rows), (found.model.probability, np.isin(keys, true)), int((~np.isin(true, keys)).sum()),
        (chances.max(axis=1), right),
    )  # fmt: skip


def _pool_without(name: str, found: Estimate, graph: Graph) -> DoubleArray:
    """Return the pool as the estimate makes it, without one component and without the guard."""
    others = {key: rows for key, rows in found.components.items() if key != name}
    late = {key: rows for key, rows in others.items() if key in BY_HEART}
    early = {key: rows for key, rows in others.items() if key not in BY_HEART}
    prior = {key: float(key == "beliefs") for key in early}
    pool = fit_pool(early, graph.labels, graph.val, others=graph.train, late=late, prior=prior)
    return pool.log_probability


def over_seeds(found: Iterable[Inside]) -> Mapping[str, Calibration]:
    """Return the calibration of edges and classes over several estimates together."""
    several = list(found)
    return {
        kind: calibration(*(np.concatenate([getattr(one, kind)[side] for one in several]) for side in (0, 1)))
        for kind in (EDGES, CLASSES)
    }


def run(datasets: Iterable[str], budgets: Iterable[float], seeds: tuple[int, ...], home: Path) -> Iterator[str]:
    """Measure, append the rows, write the bins, and yield a line a cell."""
    done = {row.key for row in read_rows(home / ROWS)}
    for dataset in datasets:
        people = load_population(sbp(dataset).options)
        for epsilon in budgets:
            found = [inside(dataset, epsilon, seed, people, home / "reports") for seed in seeds]
            for row in (row for one in found for row in one.rows if row.key not in done):
                append(home / ROWS, row)
            case = f"{dataset}, epsilon {epsilon:g}"
            write_bins(home / BINS, case, over_seeds(found), missed=sum(one.missed for one in found))
            yield case


def main() -> None:
    """Measure the parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--budgets", type=float, nargs="+", default=[3.0])
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of("2000-2009"))
    parser.add_argument("--home", type=Path, default=Path("runs") / "paired")
    given = parser.parse_args()
    for line in run(given.datasets, given.budgets, given.seeds, given.home):
        print(line, flush=True)


if __name__ == "__main__":
    main()
