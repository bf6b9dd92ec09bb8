"""Likely worth of a plan's settings: each is run in miniature, on made-up people.

    facts -> one small made-up graph a repeat -> a run with the noise of the full size -> test accuracy

It is an estimate for graphs that ``generated`` can make: simulated, not measured on anybody's people.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from strategies.engines.pool import Pool
from strategies.setup.options import RunOptions

WORDS = "simulated, not measured on your people"
_LEAST_SPREAD = 0.01  # of the accuracy between two made-up graphs


@dataclass(frozen=True)
class Worth:
    """Likely test accuracy, with its 95 % interval.

    Args:
        test: Mean over the repeats.
        low, high: Interval of that mean.
    """

    test: float
    low: float
    high: float

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"test": self.test, "low": self.low, "high": self.high, "simulated": True}


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


def nothing_trial(path: Path) -> dict[str, float]:
    """Return the accuracy of each null model on a made-up graph (a worker's task): nobody is asked for anything."""
    from curator.nulls.known import known_from_graph
    from curator.nulls.models import chance, features_alone, graph_alone
    from devices import datasets
    from devices.data.splits import make_split
    from strategies.people.owned_graph import own

    people = datasets.load(str(path))
    split = make_split("random", people, 0)
    known = known_from_graph(own(people, split, trust="none"), ("adjacency", "features", "label"))
    truth = people.labels[split.test]
    found = {"chance": np.full(len(people), chance(known)), "features alone": features_alone(known, seed=0),
             "graph alone": graph_alone(known)}  # fmt: skip
    return {
        name: float(np.mean(classes[split.test] == truth)) for name, classes in found.items() if classes is not None
    }


def trials_of(options: RunOptions, graphs: Sequence[Path]) -> list[RunOptions]:
    """Return one run a made-up graph; nothing is written, and neither nulls nor a reference are taken."""
    bare = replace(
        options, clients=None, split="random", state=None, from_reports=None, out=None, save_reports=False, repeats=1,
        engine="local", workers=None, ray_address=None, device="cpu", nulls=False, reference=False, collector_key=None,
        force=True,
    )  # fmt: skip
    return [replace(bare, dataset=str(path), seed=seed, seeds={}) for seed, path in enumerate(graphs)]


def run_all(pool: Pool, several: Mapping[str, Sequence[RunOptions]]) -> dict[str, list[float] | str]:
    """Run the trials of several settings; a setting whose trial failed has its line in place of accuracies."""
    tasks = [(name, options) for name, trials in several.items() for options in trials]
    found: dict[str, list[float] | str] = {name: [] for name in several}
    answers: Iterable[float | str] = pool.in_order(run_trial, [options for _, options in tasks])
    for (name, _), answer in zip(tasks, answers, strict=True):
        kept = found[name]
        if isinstance(answer, str):
            found[name] = answer
        elif not isinstance(kept, str):
            kept.append(answer)
    return found


def intervals(found: Mapping[str, Sequence[float]]) -> dict[str, Worth]:
    """Return the mean of each setting with its 95 % interval.

    The spread between graphs is pooled over the settings: three repeats of one alone would say little about it.
    """
    spreads = [(len(values) - 1, float(np.var(values, ddof=1))) for values in found.values() if len(values) > 1]
    freedom = sum(count for count, _ in spreads)
    pooled = sum(count * spread for count, spread in spreads) / freedom if freedom else 0.0
    made = {}
    for name, values in found.items():
        mean = float(np.mean(values))
        reach = student.ppf(0.975, max(freedom, 1)) * math.sqrt(max(pooled, _LEAST_SPREAD**2) / len(values))
        made[name] = Worth(mean, max(0.0, mean - float(reach)), min(1.0, mean + float(reach)))
    return made
