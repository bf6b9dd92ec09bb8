"""Accuracy of ``vote`` where a share of the devices lies.

    python -m benchmarks.paired.vote_liars --seeds 2000-2001 [--file FILE]

A liar reports its second candidate, whatever its list says. The liars are drawn from everybody, or from the people
without a label alone: then the law that the curator learns from labelled people knows nothing of lies.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.paired.measure import commit
from benchmarks.paired.rows import Row, append, read_rows
from benchmarks.paired.run import seeds_of
from benchmarks.paired.vote_cells import LIARS, LIARS_ANYWHERE, LIARS_UNLABELLED, LYING, vote
from curator.reports.reports import Reports
from devices.array_types import BoolArray
from devices.data.population import Population
from strategies.experiments.trial import Trial, gather_for
from strategies.runs.set_up import set_up
from strategies.setup.run_setup import load_population

DATASET, EPSILON, SECOND = "cora", 4.0, 1


def with_lies(reports: Reports, liars: BoolArray) -> Reports:
    """Return the reports with the second candidate of every liar who voted."""
    if reports.parts:
        parts = tuple(with_lies(part, liars) for part in reports.parts)
        return replace(reports, votes=_lied(reports, liars), parts=parts)
    return replace(reports, votes=_lied(reports, liars))


def _lied(reports: Reports, liars: BoolArray) -> np.ndarray | None:
    if reports.votes is None:
        return None
    return np.where(liars & reports.reported("adjacency"), SECOND, reports.votes)


def draw(people: Sequence[int], share: float, n: int, seed: int) -> BoolArray:
    """Return bool (n,): a share of these people, drawn at random; larger shares contain the smaller ones."""
    order = np.random.default_rng([seed, n]).permutation(np.asarray(people))
    found = np.zeros(n, np.bool_)
    found[order[: round(share * len(order))]] = True
    return found


def measure(seed: int, population: Population) -> Iterator[Row]:
    """Yield the rows of one seed: the devices are asked once, and the lies are told afterwards."""
    setup = set_up(replace(vote(DATASET, epsilon=EPSILON, public_features=True).options, seed=seed),
                   population=population)  # fmt: skip
    trial: Trial = gather_for(setup)
    assert trial.reports is not None
    n, split = population.facts.n, trial.split
    groups = {LIARS_ANYWHERE: np.arange(n), LIARS_UNLABELLED: np.setdiff1d(np.arange(n), split.labelled)}
    for name, people in groups.items():
        for share in LYING:
            lied = replace(trial, reports=with_lies(trial.reports, draw(people.tolist(), share, n, seed)))
            started = time.process_time()
            val, test = lied.score(lied.reconstruct(setup.method), setup.settings.training, setup.method)
            yield Row(
                dataset=DATASET, setting=LIARS, budget=f"{share:g}", seed=seed, method=name, parameters="",
                test=100 * test, val=100 * val, cpu=time.process_time() - started, threads=1, question="",
                reports=trial.digest[:12], commit=commit(),
            )  # fmt: skip


def main() -> None:
    """Run the seeds that have no rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of("2000-2001"))
    parser.add_argument("--file", type=Path, default=Path("runs") / "paired" / "vote-rows.csv")
    given = parser.parse_args()
    done = {row.seed for row in read_rows(given.file) if row.setting == LIARS}
    population = load_population(vote(DATASET).options)
    for seed in given.seeds:
        for row in measure(seed, population) if seed not in done else ():
            append(given.file, row)
            print(f"{row.seed} {row.method} {row.budget} {row.test:.2f}", flush=True)


if __name__ == "__main__":
    main()
