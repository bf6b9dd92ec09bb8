from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from devices.datasets.generated import generate
from strategies.engines.pool import processes
from strategies.estimate.graph_facts import GraphFacts, measured
from strategies.estimate.load import Load
from strategies.planning import miniature, simulated, worth
from strategies.planning.files import rehearsal
from strategies.planning.miniature import save
from strategies.planning.on_paper import OnPaper
from strategies.planning.plan import make_plan
from strategies.planning.rows import PlanRow, plan_row
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

    def nothing(task: tuple[Path, float | None]) -> dict[str, Worth]:
        return {
            name: Worth(test, test, test)
            for name, test in (("chance", 0.3), ("features alone", 0.5), ("graph alone", 0.6))
        }

    monkeypatch.setattr(worth, "run_trial", trial)
    # A miniature of a link method has a budget of its lists in place of epsilon: see test_miniature.py.
    monkeypatch.setattr(miniature, "with_kept_noise", lambda setup, n, size: setup.options)
    monkeypatch.setattr(worth, "nothing_trial", nothing)
    monkeypatch.setattr(simulated, "processes", lambda workers: processes(1, here=True))
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


class Noted:
    """A race that notes what it is asked for, with means that are given."""

    def __init__(self, sizes: list[int], means: dict[tuple[str, float], float | None] | None = None) -> None:
        self.sizes, self.means = sizes, means or {}
        self.scores = dict.fromkeys(self.means)
        self.asked: list[tuple[list[str], int, list[str] | None, int | None, float]] = []

    def mean(self, key: tuple[str, float]) -> float | None:
        return self.means.get(key)

    def run(self, settings, size, hopeful=None, graphs=None, share=1.0):  # type: ignore[no-untyped-def]
        good = None if hopeful is None else [key[0] for key in settings if hopeful(key)]
        self.asked.append(([key[0] for key in settings], size, good, graphs, share))


def named(*methods: str) -> dict[str, PlanRow]:
    return {method: PlanRow(RunOptions(method=method), {}, {}) for method in methods}


NAMES = ["chance", "features alone"]
NULLS = [{"chance": Worth(0.3, 0, 1), "features alone": Worth(features, 0, 1)} for features in (0.4, 0.6)]


@pytest.mark.parametrize(("sizes", "share"), [([600], 1.0), ([600, 2400], 0.4), ([600, 2400, 9600], 0.4)])
def test_settings_near_nobodys_answer_go_on(monkeypatch: pytest.MonkeyPatch, sizes: list[int], share: float) -> None:
    """Above chance by .04, and above the means of what is allowed (.3, .5) less .1; what has no mean goes on too."""
    monkeypatch.setattr(
        simulated, "_allowed", lambda paper, options, known: list(known)[: 1 + (options.method != "rr")]
    )
    rows = named("rr", "vote", "sbp", "hogs", "blink", "dprr")
    keys = {name: (name, 0.0) for name in rows}
    means = {"rr": 0.341, "vote": 0.401, "sbp": 0.34, "hogs": 0.4, "blink": None}
    race = Noted(sizes, {keys[name]: mean for name, mean in means.items()})
    simulated._race(None, race, rows, keys, NULLS)  # type: ignore[arg-type]
    good = ["rr", "vote", "blink", "dprr"]
    wanted = [(list(rows), 600, None, 1, 1.0), (list(rows), 600, good, None, share)]
    if len(sizes) > 1:
        wanted.append((["rr", "vote", "blink"], 2400, None, None, 0.8))  # of dprr there is no score at all
    assert race.asked == wanted


@pytest.mark.parametrize(("wishes", "last"), [
    (Wishes(), ["hogs", "sbp", "rr", "vote"]), (Wishes(accuracy=0.6), ["vote", "rr", "sbp", "hogs"]),
    (Wishes(accuracy=0.7), ["sbp", "hogs"]),
])  # fmt: skip
def test_the_largest_graph_is_for_four_that_may_be_chosen(wishes: Wishes, last: list[str]) -> None:
    tests = {"rr": 0.65, "vote": 0.6, "sbp": 0.7, "hogs": 0.9, "blink": 0.55, "dprr": 0.5, "noisy": 0.95}
    losses = {"rr": 3.0, "vote": 2.0, "sbp": 4.0, "hogs": 5.0, "blink": 1.0, "dprr": 0.5, "noisy": 0.1}
    rows = {name: replace(row, at_level={"value": losses[name]}) for name, row in named(*tests, "solitude").items()
            if name in losses} | named("solitude")  # fmt: skip
    rows["noisy"] = rows["noisy"].with_reasons("too slow")
    keys = {name: (name, 1.0) for name in rows}
    worths = {keys[name]: Worth(test, 0, 1) for name, test in tests.items()}
    race = Noted([600, 2400, 9600])
    simulated._last_ones(race, rows, keys, worths, wishes, lambda row: 0.5)  # type: ignore[arg-type]
    assert race.asked == [(last, 9600, None, None, 1.0)]


def test_the_null_models_that_a_method_may_use_and_the_best_of_them() -> None:
    paper = OnPaper(FACTS)
    known = {"chance": Worth(0.3, 0, 1), "features alone": Worth(0.5, 0, 1), "graph alone": Worth(0.6, 0, 1)}
    chance, features, graph = (list(known)[:1], list(known)[:2], list(known)[::2])
    wanted = {"rr": features, "vote": chance, "upgnet": graph, "lpgnn": chance, "rgnn": chance, "ldp-fedavg": chance,
              "pate-m": chance, "hogs": chance}  # fmt: skip
    for method, allowed in wanted.items():
        options = RunOptions(method=method)
        assert simulated._allowed(paper, options, known) == allowed, method
        assert simulated._bar(paper, options, known) == (allowed[-1], known[allowed[-1]].test)
    assert simulated._allowed(paper, RunOptions(method="rr"), {"chance": 1}) == ["chance"]
    low = known | {"features alone": Worth(0.2, 0, 1)}
    assert simulated._bar(paper, RunOptions(method="rr"), low) == ("chance", 0.3)


@pytest.mark.parametrize(("gain", "asked", "told"), [(0.01, True, True), (0.0099, True, False), (0.0, False, True)])
def test_reports_of_a_hundredth_are_worth_a_run(
    monkeypatch: pytest.MonkeyPatch, gain: float, asked: bool, told: bool
) -> None:
    monkeypatch.setattr(simulated, "most_gained", lambda questions, people: gain)
    if not asked:
        monkeypatch.setattr(simulated, "questions_on_paper", lambda *given: ())
    paper, row = OnPaper(FACTS), named("vote")["vote"]
    found = simulated._told_enough(paper, row)
    why = ("reports say next to nothing (worth less than 1 point): not simulated",)
    assert (found is row) == told and found.why == (() if told else why)
    owner = named("pate-m")["pate-m"]
    assert simulated._told_enough(paper, owner) is owner


@pytest.mark.parametrize(("wishes", "runs"), [(Wishes(), 3), (Wishes(accuracy=0.5), 18)])
def test_the_seconds_of_all_runs_at_the_full_size(monkeypatch: pytest.MonkeyPatch, wishes: Wishes, runs: int) -> None:
    seen = []

    def load(options: RunOptions, facts: GraphFacts, *, speed: float) -> Load | None:
        seen.append((options, facts, speed))
        if options.method == "rr":
            return None
        return Load({"start": 1.0, "train": 2.5}, 1.0, 10, 10, False, noisy=options.method == "sbp")

    monkeypatch.setattr(simulated, "load_of", load)
    rows = named("vote", "rr", "sbp", "hogs")
    assert simulated._takes(rows, OnPaper(FACTS), 0.5, wishes, 3) == runs * 7.0
    assert seen[0] == (replace(rows["vote"].options, clients=40_000, nulls=False, reference=False), FACTS, 0.5)


def test_an_owner_in_a_miniature_asks_as_many_as_a_quarter_of_the_people() -> None:
    paper = OnPaper(FACTS)
    for size, queries in ((603, "150"), (2400, "600")):
        made = simulated._in_miniature(paper, RunOptions(method="pate-m", settings={"queries": "9000"}), size)
        assert made.settings == {"queries": queries}
    vote = RunOptions(method="vote", settings={"homophily": "0.5"})
    assert simulated._in_miniature(paper, vote, 600).settings == vote.settings


def test_the_notes_on_a_simulation_and_its_repeats(runs: Runs) -> None:
    made = make_plan(["vote"], RunOptions(), FACTS, Wishes(), people=60, repeats=3)
    assert {name: made.notes[name] for name in made.notes if name not in ("words", "seconds")} == {
        "people": 120, "sizes": [120, 480, 1920], "repeats": 3, "runs": 7, "stopped": False, "rehearsed": False,
        "data": None,
    }  # fmt: skip
    graphs = [Path(options.dataset).name for options in runs]
    few = [(size, seed) for size in (120, 480) for seed in range(3)]
    assert graphs == [f"people-{size}-{seed}.npz" for size, seed in (*few, (1920, 0))]
    assert [options.seed for options in runs] == [0, 1, 2, 0, 1, 2, 0]
    assert made.notes["words"] == "simulated, not measured on your people" and made.notes["seconds"] > 0


def test_what_does_not_fit_this_machine_is_simulated_last(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strategies.planning.plan.plan_row", unfit(("vote",)))
    make_plan(["vote", "lpgnn"], RunOptions(), FACTS, Wishes(), people=60)
    first = [options.method for options in runs]
    assert first[:2] == ["lpgnn", "vote"]


def unfit(methods: tuple[str, ...]):  # type: ignore[no-untyped-def]
    def made(paper: OnPaper, options: RunOptions, level: str, speed: float) -> PlanRow:
        row = plan_row(paper, options, level, speed)
        return replace(row, figures={**row.figures, "fits": options.method not in methods})

    return made
