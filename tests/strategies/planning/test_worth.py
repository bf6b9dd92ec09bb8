from __future__ import annotations

from pathlib import Path

import pytest

from strategies.estimate.graph_facts import GraphFacts
from strategies.planning import miniature, worth
from strategies.setup.options import RunOptions


def test_intervals_pool_the_spread_of_all_settings() -> None:
    found = worth.intervals({"a": {600: [0.5, 0.6, 0.7]}, "b": {600: [0.2, 0.2, 0.2]}}, 600)
    assert found["a"].test == pytest.approx(0.6) and found["b"].test == pytest.approx(0.2)
    widths = [found[name].high - found[name].low for name in "ab"]
    assert widths[0] == pytest.approx(widths[1])
    # pooled variance .01 / 2, four degrees of freedom: t = 2.776
    assert widths[0] / 2 == pytest.approx(2.776 * (0.005 / 3) ** 0.5, rel=1e-3)
    assert found["a"].to_dict()["simulated"] is True
    assert 0 <= worth.intervals({"a": {600: [0.01, 0.0]}}, 600)["a"].low


def test_the_largest_runs_count_and_fewer_people_than_planned_widen_the_interval() -> None:
    scores = {600: [0.5, 0.54], 2400: [0.62, 0.6]}
    same, more, many = (worth.intervals({"a": scores}, n)["a"] for n in (2400, 9600, 38_400))
    assert same.test == more.test == many.test == pytest.approx(0.61)
    assert (same.people, same.runs) == (2400, 4)
    assert same.low - more.low == pytest.approx(worth.TOO_HIGH) and same.low - many.low == pytest.approx(
        2 * worth.TOO_HIGH
    )
    assert more.high - same.high == pytest.approx(worth.TOO_LOW)


def test_a_trial_is_a_run_on_made_up_people_that_writes_nothing(tmp_path: Path) -> None:
    graphs = miniature.make(GraphFacts(80, features=20, classes=2, words=4.0), tmp_path, people=80, repeats=1)
    before = sorted(tmp_path.rglob("*"))
    trial = worth.trial_of(RunOptions(method="lp-and", clients=10**8), graphs[0], 0)
    assert trial.out is None and trial.clients is None and not trial.nulls and not trial.reference
    found = worth.run_trial(trial)
    assert isinstance(found, float) and 0 <= found <= 1
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
