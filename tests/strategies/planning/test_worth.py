from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from devices.datasets.generated_v1 import generate
from strategies.estimate.graph_facts import GraphFacts
from strategies.planning import miniature, worth
from strategies.setup.options import RunOptions


def test_an_interval_is_that_of_one_run_with_the_spread_of_all_settings() -> None:
    found = worth.intervals({"a": {600: [0.5, 0.6, 0.7]}, "b": {600: [0.2, 0.2, 0.2]}}, 600)
    assert found["a"].test == pytest.approx(0.6) and found["b"].test == pytest.approx(0.2)
    reach = {name: (found[name].high - found[name].low) / 2 for name in "ab"}
    # variances .01 of a alone and .005 of both, four degrees of freedom: t = 2.776; a mean of three, and one run
    assert reach["a"] == pytest.approx(2.776 * (0.01 * 4 / 3) ** 0.5, rel=1e-3)
    assert reach["b"] == pytest.approx(2.776 * (0.005 * 4 / 3) ** 0.5, rel=0.1)
    assert found["a"].to_dict()["simulated"] is True
    assert 0 <= worth.intervals({"a": {600: [0.01, 0.0]}}, 600)["a"].low


def test_intervals_of_95_per_cent_hold_for_new_runs() -> None:
    """Proof: miniatures and a run with the same true accuracy, each of its own test people, on two shared graphs.

    Of 2,000 intervals of 95 % at least 1,851 hold at a false-alarm rate of 1e-6.
    """
    rng, held, n = np.random.default_rng(5), 0, 4000
    for _ in range(400):
        true = rng.uniform(0.4, 0.9, 5)

        def drawn(people: int, true: np.ndarray = true) -> np.ndarray:
            return np.clip(rng.binomial(people // 4, true) / (people // 4) + rng.normal(0, 0.01, 5), 0, 1)

        scores = {people: (drawn(people), drawn(people)) for people in (600, n)}
        found = worth.intervals(
            {place: {people: [a[place], b[place]] for people, (a, b) in scores.items()} for place in range(5)}, n
        )
        run = drawn(n)
        held += sum(found[place].low <= run[place] <= found[place].high for place in range(5))
    assert held >= 1851


def test_the_largest_runs_count_and_fewer_people_than_planned_widen_the_interval() -> None:
    scores = {600: [0.5, 0.54], 2400: [0.62, 0.6]}
    few, many = (worth.intervals({"a": scores}, n)["a"] for n in (2400 * 64, 2400 * 256))  # a run's own spread is small
    assert few.test == many.test == pytest.approx(0.61)
    assert (many.people, many.runs) == (2400, 4)
    assert few.low - many.low == pytest.approx(worth.TOO_HIGH, abs=0.003)
    assert many.high - few.high == pytest.approx(worth.TOO_LOW, abs=0.003)


def test_a_trial_is_a_run_on_made_up_people_that_writes_nothing(tmp_path: Path) -> None:
    graphs = miniature.make(GraphFacts(80, features=20, classes=2, words=4.0), tmp_path, people=80, repeats=1)
    before = sorted(tmp_path.rglob("*"))
    trial = worth.trial_of(RunOptions(method="lp-and", clients=10**8), graphs[0], 0)
    assert trial.out is None and trial.clients is None and not trial.nulls and not trial.reference
    found = worth.run_trial(trial)
    assert isinstance(found, float) and 0 <= found <= 1
    of_reference = RunOptions(method="vote", settings={"epochs": "5"})  # vote trains no network, its reference does
    assert worth.trial_of(of_reference, graphs[0], 0).settings == {}
    nulls = worth.nothing_trial((graphs[0], None))
    assert nulls["chance"] == worth.nothing_trial((graphs[0], 0.5))["chance"]
    assert nulls["features alone"] != worth.nothing_trial((graphs[0], 0.05))["features alone"]
    assert nulls["chance"].people == 80
    assert set(nulls) == {"chance", "features alone", "graph alone"} and all(
        0 <= found.low <= found.test <= found.high <= 1 for found in nulls.values()
    )
    failed = worth.run_trial(RunOptions(method="privgnn", dataset=str(graphs[0]), out=None))
    assert isinstance(failed, str) and "--queries" in failed
    assert sorted(tmp_path.rglob("*")) == before


def test_what_needs_nobody_learns_with_the_seeds_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """And with seed 0 on a file of a made-up graph."""
    people, seeds = generate(60, seed=1), list[int]()
    monkeypatch.setattr(
        "curator.nulls.models.features_alone", lambda known, seed: seeds.append(seed) or np.zeros(60, np.int64)
    )
    monkeypatch.setattr("devices.datasets.load", lambda name, **given: people)
    found = worth.nothing_trial((Path("made-up.npz"), None))
    assert found.keys() == {"chance", "features alone", "graph alone"}
    worth.nothing_trial((RunOptions(dataset="generated-v1", clients=60, seeds={"training": 9}), None))
    assert seeds == [0, 9]
