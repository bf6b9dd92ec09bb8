from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

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


def test_the_interval_of_two_sizes_by_hand() -> None:
    """Squares 600 x .0008 + 2400 x .0002 = .96 with 3 degrees of freedom: t = 3.182446, a variance of .32 / people."""
    found = worth.intervals({"a": {600: [0.5, 0.52, 0.54], 2400: [0.6, 0.62]}}, 2400 * 16)["a"]
    least = [0.61 * 0.39 / (0.25 * people) + 0.01**2 for people in (2400, 2400 * 16)]
    reach = 3.182446 * math.sqrt(max(0.32 / 2400, least[0]) / 2 + max(0.32 / 38400, least[1]))
    assert (found.test, found.low, found.high) == pytest.approx((0.61, 0.61 - reach - 0.16, 0.61 + reach + 0.08))
    assert (found.people, found.runs) == (2400, 5)
    alone = worth.intervals({"a": {600: [0.5]}}, 300)["a"]  # one degree of freedom, more people than all
    reach = 12.706205 * math.sqrt(2 * (0.25 / 150 + 1e-4))
    assert alone.high == pytest.approx(min(1.0, 0.5 + reach)) and alone.low == max(0.0, 0.5 - reach)
    wide = {"a": {600: [0.3, 0.7]}, "b": {600: [0.6]}, "c": {100: [0.4, 0.5, 0.6, 0.5, 0.5], 600: [0.5]}}
    pooled, own = (600 * 0.08 + 100 * 0.02) / 5, 600 * 0.08
    t = 2.570582  # 1 + 4 degrees of freedom
    for name, spread, test in (("a", own, 0.5), ("b", pooled, 0.6), ("c", pooled, 0.5)):
        runs = 2 if name == "a" else 1
        reach = t * math.sqrt(spread / 600 / runs + spread / 600)
        assert worth.intervals(wide, 600)[name].low == pytest.approx(max(0.0, test - reach))
    assert [worth.growth(*of) for of in ((600, 9600), (600, 600), (600, 601), (601, 600))] == pytest.approx(
        [2.0, 0.0, math.log(601 / 600) / math.log(4), 0.0]
    )


def test_the_interval_of_the_test_people_of_one_graph() -> None:
    found = worth._of_test_people(np.arange(100) < 40, 400)
    reach = 1.96 * math.sqrt(2 * (0.24 / 100 + 1e-4))
    assert (found.test, found.low, found.high) == pytest.approx((0.4, 0.4 - reach, 0.4 + reach))
    assert (found.people, found.runs) == (400, 1)
    ends = [worth._of_test_people(np.full(4, right), 4) for right in (False, True)]
    assert (ends[0].low, ends[1].high) == (0.0, 1.0) and ends[0].high > 0 and ends[1].low < 1


def test_a_trial_changes_these_options_and_no_other_ones() -> None:
    given = RunOptions(
        method="rr", dataset="generated-v1", clients=70, seed=5, seeds={"training": 8}, split="split42",
        state=Path("a"),
        from_reports=Path("b"), out=Path("c"), save_reports=True, engine="ray", workers=3, ray_address="x",
        device="cuda", collector_key=Path("k"), force=False, epsilon=2.5, label_rate=0.3,
    )  # fmt: skip
    plain = {
        "state": None, "from_reports": None, "out": None, "save_reports": False, "repeats": 1, "engine": "local",
        "workers": None, "ray_address": None, "device": "cpu", "nulls": False, "reference": False,
        "collector_key": None, "force": True,
    }  # fmt: skip
    own = {**given.seeds, "population": given.seeds_of(0).population}
    for graph, seed, people in (
        (Path("g.npz"), 3, {"dataset": "g.npz", "seed": 3, "seeds": {}, "clients": None, "split": "random"}),
        (None, 0, {}), (None, 2, {"seed": 7, "seeds": own}),
    ):  # fmt: skip
        assert worth.trial_of(given, graph, seed) == replace(given, **plain, **people)


def test_a_miniature_that_ends_without_an_accuracy_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(test: float | Exception | None) -> float | str:
        def run(options: RunOptions, keep_graph: bool) -> SimpleNamespace:
            assert not keep_graph
            if isinstance(test, Exception):
                raise test
            return SimpleNamespace(record={"accuracy": {"test": test}})

        monkeypatch.setattr("strategies.runs.simulate.simulate", run)
        return worth.run_trial(RunOptions())

    assert ends(0.25) == 0.25 and ends(0.0) == 0.0 and ends(None) == "nobody was scored"
    assert ends(ValueError("two\n  lines")) == "two lines" and ends(KeyError()) == "KeyError"
