from __future__ import annotations

import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from devices.datasets.generated import generate
from strategies.engines.pool import Pool
from strategies.estimate.graph_facts import GraphFacts, measured
from strategies.planning import miniature, simulated, worth
from strategies.planning.files import rehearsal
from strategies.planning.miniature import save
from strategies.planning.plan import make_plan
from strategies.planning.wishes import Wishes
from strategies.planning.worth import Worth
from strategies.setup.options import RunOptions
from strategies.setup.run_setup import load_population

FACTS = GraphFacts(40_000, features=40, classes=3, words=5.0)
Runs = list[RunOptions]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Runs that are asked for; a method reaches .1 per unit of epsilon, in place of a simulation."""
    seen: Runs = []

    def trial(options: RunOptions) -> float | str:
        seen.append(options)
        if options.method == "rr":
            return "it broke"
        return min(0.95, 0.1 * (options.epsilon or 8.0)) + 0.001 * options.seed

    @contextmanager
    def pool(workers: int | None) -> Iterator[Pool]:
        made = Pool(ThreadPoolExecutor, 1)
        yield made
        made.close()

    def nothing(task: tuple[Path, float | None]) -> dict[str, Worth]:
        return {
            name: Worth(test, test, test)
            for name, test in (("chance", 0.3), ("features alone", 0.5), ("graph alone", 0.6))
        }

    monkeypatch.setattr(worth, "run_trial", trial)
    # A miniature of a link method has a budget of its lists in place of epsilon: see test_miniature.py.
    monkeypatch.setattr(miniature, "with_kept_noise", lambda setup, n, size: setup.options)
    monkeypatch.setattr(worth, "nothing_trial", nothing)
    monkeypatch.setattr(simulated, "_pool", pool)
    return seen


def test_each_method_gets_the_smallest_budget_that_reaches_the_target(runs: Runs) -> None:
    made = make_plan(["vote", "lpgnn"], RunOptions(), FACTS, Wishes(accuracy=0.55), people=60)
    rows = {row.method: row for row in made.rows}
    assert rows["vote"].options.epsilon == 6.0 and rows["vote"].worth is not None
    assert rows["vote"].worth.test == pytest.approx(0.6, abs=0.01)
    # its labels are private: nobody's answer is the largest class, though the links are public
    assert rows["lpgnn"].bar == ("chance", pytest.approx(0.3))
    assert len(runs) == made.notes["runs"] < 2 * 2 * 10


def test_a_target_out_of_reach_says_how_far_the_largest_budget_goes(runs: Runs) -> None:
    made = make_plan(["vote"], RunOptions(), FACTS, Wishes(accuracy=0.99), people=60)
    (row,) = made.rows
    assert row.options.epsilon == 16.0 and "likely below 99 %" in row.why
    assert made.choice is None and made.why.startswith("none, because")


def test_a_miniature_that_fails_is_a_reason(runs: Runs) -> None:
    made = make_plan(["rr", "vote"], RunOptions(), FACTS, Wishes(), people=60)
    rows = {row.method: row for row in made.rows}
    assert rows["rr"].worth is None and "miniature failed: it broke" in rows["rr"].why
    assert rows["vote"].worth is not None and made.nothing["chance"].test == pytest.approx(0.3)


def test_what_cannot_be_chosen_is_not_simulated(runs: Runs) -> None:
    made = make_plan(["hogs", "vote"], RunOptions(), FACTS, Wishes(holds=4.0), people=60)
    hogs, vote = made.rows
    assert hogs.worth is None and vote.worth is not None
    assert "reports say next to nothing (worth less than 1 point): not simulated" in hogs.why
    assert {options.method for options in runs} == {"vote"}
    runs.clear()
    made = make_plan(["hogs", "vote"], RunOptions(), FACTS, Wishes(max_bytes=5000), people=60)
    assert {options.method for options in runs} == {"hogs"} and made.rows[1].worth is None


def test_larger_graphs_are_for_what_is_near_nobodys_answer_or_above(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The faked runs read epsilon; a miniature of links alone has the budget of a list in its place.
    monkeypatch.setattr(simulated, "_in_miniature", lambda paper, options, size: options)
    low = make_plan(["dprr"], RunOptions(epsilon=3.8), FACTS, Wishes(), people=60)
    assert {options.dataset for options in runs} == {runs[0].dataset} and low.rows[0].worth is not None
    assert low.rows[0].worth.people == 120 and low.rows[0].bar == ("features alone", pytest.approx(0.5))
    runs.clear()
    high = make_plan(["dprr"], RunOptions(epsilon=7.0), FACTS, Wishes(), people=60)
    assert high.rows[0].worth is not None and high.rows[0].worth.people == 1920
    assert len(runs) == 5 and high.notes["sizes"] == [120, 480, 1920]


def test_what_is_not_simulated_in_time_says_so(runs: Runs) -> None:
    made = make_plan(["vote"], RunOptions(), FACTS, Wishes(), people=60, seconds=1e-9)
    assert made.rows[0].worth is None and "not simulated in 1e-09 s" in made.rows[0].why
    assert made.notes["stopped"] is True and made.notes["runs"] == 0


@pytest.fixture
def mine(tmp_path: Path) -> RunOptions:
    """Options about a file of people."""
    save(generate(200, 40, 3, seed=5), tmp_path / "mine.npz")
    return RunOptions(dataset=str(tmp_path / "mine.npz"), seed=4)


def test_data_that_are_there_are_rehearsed_on_as_they_are(runs: Runs, mine: RunOptions) -> None:
    people = load_population(mine)
    made = make_plan(["vote"], mine, measured(people), Wishes(), data=people, repeats=4)
    assert {options.dataset for options in runs} == {mine.dataset} and len(runs) == 4
    assert [options.seeds_of(0) == mine.seeds_of(0) for options in runs] == [True, False, False, False]
    assert {options.seeds_of(0).population for options in runs} == {mine.seeds_of(0).population}
    assert made.notes["rehearsed"] and made.notes["words"] == "rehearsed on mine" and made.notes["sizes"] == [200]
    assert made.choice is not None and "(rehearsed on mine)" in made.why
    assert shlex.split(rehearsal(made, made.choice.options))[:7] == [
        "ldpsim", "run", "--method", "vote", "--dataset", mine.dataset, "--seed"
    ]  # fmt: skip


def test_data_whose_runs_take_long_have_a_miniature_that_is_named_as_such(
    runs: Runs, mine: RunOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulated, "REHEARSED", 0.0)
    people = load_population(mine)
    made = make_plan(["vote"], mine, measured(people), Wishes(), data=people, people=60)
    assert mine.dataset not in {options.dataset for options in runs} and not made.notes["rehearsed"]
    assert "made-up people with the facts of mine" in made.why and "no coverage is promised" in made.why


def test_other_facts_than_those_of_the_data_are_made_up(runs: Runs) -> None:
    made = make_plan(["vote"], RunOptions(), FACTS, Wishes(), people=60)
    assert made.data is None and made.notes["data"] is None and "simulated, not measured on your people" in made.why
