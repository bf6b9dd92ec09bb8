"""Likely worth of a plan's settings: each is rehearsed on the data that are there, or run in miniature.

    data                                  -> runs of all people                      -> test accuracy
    facts -> small made-up graphs         -> runs with the noise of the full size    -> test accuracy, with an interval

A miniature is an estimate for graphs that ``generated`` can make: simulated, not measured on anybody's people.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy.stats import t as student

from strategies.setup.options import RunOptions
from strategies.setup.read_options import read_alone

MADE_UP = "simulated, not measured on your people"
# What has to be public for a null model
NEEDED = {"features alone": "features and labels", "graph alone": "links and labels"}
# Accuracy by which miniatures were at most too high and too low where they were tried (docs/commands/plan.md), for each
# factor of four between their people and all people.
TOO_HIGH, TOO_LOW = 0.08, 0.04
_BETWEEN_GRAPHS = 0.01  # standard deviation of the accuracy between made-up graphs, beside that of the test people
_TESTED = 0.25  # share of the people who are tested

Name = TypeVar("Name", bound=Hashable)
TestScores = Mapping[int, Sequence[float]]  # number of made-up people -> test accuracy on each graph


@dataclass(frozen=True)
class Worth:
    """Likely test accuracy, with the 95 % interval of one run of all people.

    Args:
        test: Accuracy of the largest runs.
        low, high: Its interval.
        people: Number of made-up people of the largest runs behind it.
        runs: Number of runs.
    """

    test: float
    low: float
    high: float
    people: int = 0
    runs: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"test": self.test, "low": self.low, "high": self.high, "simulated": True,
                "people": self.people, "runs": self.runs}  # fmt: skip


def run_trial(options: RunOptions) -> float | str:
    """Run a miniature and return its test accuracy, or one line (a worker's task)."""
    import logging

    from strategies.runs.simulate import simulate

    logging.getLogger("ldpsim").setLevel(logging.ERROR)
    try:
        found = simulate(options, keep_graph=False).record["accuracy"]["test"]
    except Exception as error:
        return " ".join(str(error).split()) or type(error).__name__
    return "nobody was scored" if found is None else float(found)


def nothing_trial(task: tuple[Path | RunOptions, float | None]) -> dict[str, Worth]:
    """Return the accuracy of each null model on a graph (a worker's task): nobody is asked for anything.

    Args:
        task: File of a made-up graph, or the options of a run whose people, split and seeds are taken; and the share
            of people whose labels are known, None for half of them.
    """
    from curator.nulls.known import known_from_graph
    from curator.nulls.models import chance, features_alone, graph_alone
    from devices import datasets
    from devices.data.splits import make_split
    from strategies.people.owned_graph import own
    from strategies.setup.run_setup import load_population

    given, label_rate = task
    if isinstance(given, RunOptions):
        people, seeds, rule = load_population(given), given.seeds_of(0), given.split
        split, training = make_split(rule, people, seeds.split, label_rate), seeds.training
    else:
        people, training = datasets.load(str(given)), 0
        split = make_split("random", people, 0, label_rate)
    known = known_from_graph(own(people, split, trust="none"), ("adjacency", "features", "label"))
    truth = people.labels[split.test]
    found = {"chance": np.full(len(people), chance(known)), "features alone": features_alone(known, seed=training),
             "graph alone": graph_alone(known)}  # fmt: skip
    return {
        name: _of_test_people(classes[split.test] == truth, len(people))
        for name, classes in found.items()
        if classes is not None
    }


def _of_test_people(right: np.ndarray, people: int) -> Worth:
    share = float(np.mean(right))
    reach = 1.96 * math.sqrt(2 * _least_variance(share, people))  # of this graph, and of a run
    return Worth(share, max(0.0, share - reach), min(1.0, share + reach), people, 1)


def _least_variance(test: float, people: int) -> float:
    """Return the variance of a run's accuracy that test people drawn by chance, and another graph, make alone."""
    return test * (1 - test) / (_TESTED * people) + _BETWEEN_GRAPHS**2


def trial_of(options: RunOptions, graph: Path | None, seed: int) -> RunOptions:
    """Return a run on a made-up graph, or on the people of the options; neither nulls nor a reference are taken.

    A setting that only the reference reads is left out.

    Args:
        options: Options of the run.
        graph: File of the made-up graph; None for the people of the options: with seed 0 it is the run of the options.
        seed: Number of the run.
    """
    people: dict[str, Any] = {"dataset": str(graph), "seed": seed, "seeds": {}, "clients": None, "split": "random"}
    if graph is None:
        # Another split and other noise, but the same sample of people.
        own = {**options.seeds, "population": options.seeds_of(0).population} if seed else options.seeds
        people = {"seed": options.seed + seed, "seeds": own}
    made = replace(
        options, **people, state=None, from_reports=None, out=None, save_reports=False, repeats=1, engine="local",
        workers=None, ray_address=None, device="cpu", nulls=False, reference=False, collector_key=None, force=True,
    )  # fmt: skip
    return read_alone(made)[0]


def intervals(found: Mapping[Name, TestScores], n: int) -> dict[Name, Worth]:
    """Return the likely accuracy of each setting among n people: that of its largest runs.

    The 95 % interval is that of one run of n people, so it has the spread of such a run beside that of the mean of the
    miniatures. The spread between runs is pooled over the settings, and over the sizes as its variance falls with the
    number of people: two runs of one setting alone would say little. A setting has a larger one if its own runs differ
    more, and none has less than :func:`_least_variance`, since all settings share their few graphs. Miniatures of fewer
    than n people widen the interval (:data:`TOO_HIGH`, :data:`TOO_LOW`).
    """
    spread = {name: _squares(scores) for name, scores in found.items()}
    freedom = max(1, sum(degrees for _, degrees in spread.values()))
    pooled = sum(squares for squares, _ in spread.values()) / freedom
    quantile = float(student.ppf(0.975, freedom))
    made = {}
    for name, scores in found.items():
        people, (squares, degrees) = max(scores), spread[name]
        values, of_one = scores[people], max(pooled, squares / max(degrees, 1))
        test, share = float(np.mean(values)), growth(people, n)
        mean, run = (max(of_one / size, _least_variance(test, size)) for size in (people, max(people, n)))
        reach = quantile * math.sqrt(mean / len(values) + run)
        low, high = test - reach - TOO_HIGH * share, test + reach + TOO_LOW * share
        made[name] = Worth(test, max(0.0, low), min(1.0, high), people, sum(map(len, scores.values())))
    return made


def _squares(scores: TestScores) -> tuple[float, int]:
    """Return the squared deviations of a setting's runs times their people, and the degrees of freedom."""
    several = [(size, values) for size, values in scores.items() if len(values) > 1]
    squares = sum(size * float(np.sum((np.array(values) - np.mean(values)) ** 2)) for size, values in several)
    return squares, sum(len(values) - 1 for _, values in several)


def growth(people: int, n: int) -> float:
    """Return by how many factors of four n people are more than ``people``.

    >>> growth(600, 9600), growth(600, 500)
    (2.0, 0.0)
    """
    return max(0.0, math.log(n / people, 4))
