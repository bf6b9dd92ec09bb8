"""Figures of a record over several repeats (the whole record: runs/test_simulate.py)."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from strategies import RunOptions, simulate
from strategies.results.averages import mean, spread
from strategies.results.outcome import Repeat
from strategies.results.record import assemble
from strategies.setup.run_setup import RunSetup


def test_the_spread_is_the_sample_standard_deviation() -> None:
    figures = [0.5, 0.7, 0.8, 0.9]
    assert spread(figures) == pytest.approx(statistics.stdev(figures), rel=1e-12)
    assert spread([0.4, 0.6]) == pytest.approx(0.02**0.5)  # not 0.1, the population's
    assert spread([0.4, None, 0.6]) == pytest.approx(0.02**0.5)
    assert spread([0.4]) is None is spread([None, 0.4])


def test_the_mean_leaves_out_what_is_not_known() -> None:
    assert mean([0.4, None, 0.8, 0.9]) == pytest.approx(0.7)
    assert mean([None]) is None is mean([])


def test_each_figure_of_a_record_is_over_the_repeats_that_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three repeats with figures of our own: means, the spread, sums, those of the first and those of the last."""
    seen: list[tuple[RunSetup, Sequence[Repeat]]] = []

    def watched(setup: RunSetup, repeats: Sequence[Repeat], seconds: Mapping[str, float]) -> dict[str, Any]:
        seen.append((setup, repeats))
        return assemble(setup, repeats, seconds)

    monkeypatch.setattr("strategies.runs.simulate.assemble", watched)
    settings = {"epochs": "1"}
    simulate(RunOptions(clients=40, repeats=3, settings=settings, reference=False, nulls=False, out=None))
    ((setup, repeats),) = seen
    figures = (0.2, 0.3, 0.7)
    changed = [
        replace(
            repeat,
            accuracy={"test": figure, "val": figure / 2, "macro_f1": figure / 4},
            reference=None if number == 0 else figure,
            lifetime={"user": number},
            seeded=number != 1,
            outcome=replace(
                repeat.outcome,
                seconds={"collect": figure, "reconstruct": 2 * figure, "train": 3 * figure},
                collected=replace(repeat.outcome.collected, silent=number),
                reconstruction={
                    **repeat.outcome.reconstruction,
                    "edges": 10 * figure,
                    "edge_recall": figure,
                    "posterior": {"figure": figure},
                },
            ),
        )
        for number, (repeat, figure) in enumerate(zip(repeats, figures, strict=True))
    ]
    record = assemble(setup, changed, {"population": 1.0, "total": 9.0, "cpu": 8.0})
    assert record["accuracy"] == {
        "test": pytest.approx(0.4), "val": pytest.approx(0.2), "macro_f1": pytest.approx(0.1),
        "per_repeat": list(figures), "std": pytest.approx(statistics.stdev(figures)),
    }  # fmt: skip
    assert record["reference"]["nonprivate_test"] == pytest.approx(0.5)
    assert record["seconds"] == {"population": 1.0, "total": 9.0, "cpu": 8.0, "collect": pytest.approx(1.2),
                                 "reconstruct": pytest.approx(2.4), "train": pytest.approx(3.6)}  # fmt: skip
    assert record["reconstruction"]["edges"] == pytest.approx(4) and record["devices"]["silent"] == 0
    assert record["reconstruction"]["edge_recall"] == pytest.approx(0.4)
    assert record["reconstruction"]["posterior"]["figure"] == figures[0]  # a method's notes: the first repeat's
    assert record["privacy"]["lifetime_per_device"] == {"user": 2} and record["simulation_seeded"] is False
    assert record["privacy"]["collections"] == 3
    searched = replace(setup, settings=replace(setup.settings, collections=5))
    assert assemble(searched, changed, {"population": 1.0, "total": 9.0, "cpu": 8.0})["privacy"]["collections"] == 8
    digests = [hashlib.sha256(repeat.split.test.astype("<i8").tobytes()).hexdigest() for repeat in setup.repeats]
    assert record["dataset"]["scored_sha256"] == digests and len(set(digests)) == 3
