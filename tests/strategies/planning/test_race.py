from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
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


@pytest.mark.parametrize(("share", "runs"), [(0.59, 2), (0.6, 3)])
def test_a_run_may_end_exactly_at_its_part_of_the_time(
    monkeypatch: pytest.MonkeyPatch, share: float, runs: int
) -> None:
    """Two runs of 2 s each on 100 people; one on 400 people takes 8 s by that, and ends at 12 s of 20."""
    now = [50.0]

    def trial(options: RunOptions) -> float:
        now[0] += 2.0
        return 0.5

    monkeypatch.setattr(races.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(worth, "run_trial", trial)
    made, vote = race(seconds=20.0), {("vote", 0.0): RunOptions(method="vote")}
    for _ in range(2):  # the second time they were run before
        made.run(vote, 100)
    assert made.runs == 2 and not made.stopped
    assert made._expected(("vote", 0.0), 400) == 8.0 and made._expected(("other", 0.0), 400) == 0.0
    made.run(vote, 400, share=share)
    assert made.runs == runs and made.stopped == (runs == 2)


def test_phases_have_numbers_and_shares() -> None:
    told: list[tuple[str, float | None]] = []
    made = race(told=told)
    made.run(SETTINGS, 100, graphs=1)
    made.run({("vote", 0.0): RunOptions(method="vote")}, 100)
    made.run({}, 400)
    assert [phase for phase, _ in told if phase is not None] == [
        *["simulating 100 people"] * 4, *["simulating 100 people, part 2"] * 3, *["simulating 400 people"] * 2
    ]  # fmt: skip
    shares = [share for _, share in told]
    assert shares[0] == shares[4] == shares[7] == 0.0 and shares[3] == shares[6] == shares[8] == 1.0
    assert shares[1] in (0.5, 1.0) and shares[2] == 1.0
    told.clear()
    race(told=told).run({("vote", float(k)): RunOptions(method="vote") for k in range(9)}, 100)
    assert min(share for _, share in told[1:] if share is not None) < 0.5  # of 18 runs


def test_trials_have_the_options_of_their_size_and_the_number_of_their_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def at_size(options: RunOptions, size: int) -> RunOptions:
        return replace(options, epsilon=float(size))

    def trial(options: RunOptions) -> float:
        seen.append((options.dataset, options.seed, options.epsilon))
        return 0.25 * (1 + options.seed)

    monkeypatch.setattr(worth, "run_trial", trial)
    made = Race(Pool(ThreadPoolExecutor, 1), GRAPHS, at_size, 100.0, lambda phase, share: None)
    made.run({("vote", 0.0): RunOptions(method="vote")}, 100)
    made.run({("vote", 0.0): RunOptions(method="vote")}, 400)
    assert seen == [("a", 0, 100.0), ("b", 1, 100.0), ("c", 0, 400.0)]
    assert made.scores == {("vote", 0.0): {100: [0.25, 0.5], 400: [0.25]}} and made.mean(("vote", 0.0)) == 0.375
