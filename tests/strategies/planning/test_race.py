from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from strategies.engines.pool import Pool
from strategies.planning import race as races
from strategies.planning import worth
from strategies.planning.race import Race
from strategies.setup.options import RunOptions

GRAPHS = {100: [Path("a"), Path("b")], 400: [Path("c")]}
SETTINGS = {(name, 0.0): RunOptions(method=name) for name in ("rr", "vote")}


def race(seconds: float = 100.0, told: list[tuple[str, float | None]] | None = None) -> Race:
    notes = [] if told is None else told
    return Race(Pool(ThreadPoolExecutor, 1), GRAPHS, lambda options, size: options, seconds,
                lambda phase, share: notes.append((phase, share)))  # fmt: skip


@pytest.fixture(autouse=True)
def trials(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    seen: list[tuple[str, str]] = []

    def trial(options: RunOptions) -> float | str:
        seen.append((options.method, options.dataset))
        return "it broke" if options.method == "rr" else 0.5 + 0.1 * options.seed

    monkeypatch.setattr(worth, "run_trial", trial)
    return seen


def test_all_run_on_the_first_graph_before_any_on_the_second(trials: list[tuple[str, str]]) -> None:
    told: list[tuple[str, float | None]] = []
    made = race(told=told)
    made.run(SETTINGS, 100)
    assert trials == [("rr", "a"), ("vote", "a"), ("vote", "b")]  # what failed is not run again
    assert made.failed == {("rr", 0.0): "it broke"} and made.runs == 3
    assert made.scores == {("vote", 0.0): {100: [0.5, 0.6]}} and made.mean(("vote", 0.0)) == pytest.approx(0.55)
    assert made.mean(("rr", 0.0)) is None and made.sizes == [100, 400]
    assert told[0] == ("simulating 100 people", 0.0) and told[-1][1] == 1.0
    made.run(SETTINGS, 100)
    assert made.runs == 3


def test_a_setting_without_hope_is_not_run(trials: list[tuple[str, str]]) -> None:
    made = race()
    made.run(SETTINGS, 100, lambda key: key[0] == "vote", graphs=1)
    assert trials == [("vote", "a")]


def test_no_run_begins_that_would_end_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(1000))
    monkeypatch.setattr(races.time, "perf_counter", lambda: 10.0 * next(now))
    made = race(seconds=50.0)  # each look at the clock takes 10 s
    made.run({("vote", 0.0): RunOptions(method="vote")}, 100, graphs=1)
    assert made.runs == 1 and not made.stopped
    made.run({("vote", 0.0): RunOptions(method="vote")}, 400)
    assert made.runs == 1 and made.stopped
