from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.devices import datasets
from ldpsim.devices.datasets.generated import generate
from ldpsim.strategies import simulate
from ldpsim.strategies.engines.pool import processes
from ldpsim.strategies.estimate.graph_facts import GraphFacts, measured
from ldpsim.strategies.estimate.load import Load
from ldpsim.strategies.estimate.traffic import miniature
from ldpsim.strategies.planning import rehearsal
from ldpsim.strategies.planning.files import rehearsal as command_of
from ldpsim.strategies.planning.files import write_files
from ldpsim.strategies.planning.miniature import save
from ldpsim.strategies.planning.on_paper import OnPaper
from ldpsim.strategies.planning.plan import Plan, make_plan
from ldpsim.strategies.planning.planned_people import planned_people
from ldpsim.strategies.planning.rehearsal import Like, Rehearsal, at_size, run_trial, trial_of
from ldpsim.strategies.planning.rows import PlanRow
from ldpsim.strategies.planning.wishes import Wishes
from ldpsim.strategies.planning.worth import Worth
from ldpsim.strategies.results.shown_nulls import shown_nulls_of, shown_verdict
from ldpsim.strategies.setup.options import RunOptions

FACTS = GraphFacts(40_000, features=40, classes=3, words=5.0)
Runs = list[RunOptions]


def planned(methods: list[str], wishes: Wishes | None = None, given: RunOptions | None = None, **more: Any) -> Plan:
    like = more.pop("like", None) or Like(given or RunOptions(), by_facts=True)
    return make_plan(methods, more.pop("facts", FACTS), wishes or Wishes(), like, **more)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Runs that are asked for, with their data as they were; each has an accuracy of .6, in place of a simulation."""
    seen: Runs = []

    def trial(options: RunOptions) -> Worth:
        seen.append(options)
        if options.method == "rr":
            raise ValueError("it\n broke")
        return Worth(0.6, None, "chance", 0.3, {"value": 0.3, "low": 0.2, "high": 0.4})

    monkeypatch.setattr(rehearsal, "run_trial", trial)
    monkeypatch.setattr(rehearsal, "processes", lambda workers, here: processes(1, here=here))
    monkeypatch.setattr(rehearsal, "miniature", lambda facts, size, seed: generate(20))
    return seen


def loads(monkeypatch: pytest.MonkeyPatch, seconds: float | None) -> list[tuple[RunOptions, GraphFacts, float]]:
    """Let every run take so many seconds for a person; None: nobody knows."""
    asked = []

    def load(options: RunOptions, facts: GraphFacts, *, speed: float) -> Load | None:
        asked.append((options, facts, speed))
        return None if seconds is None else Load({"train": seconds * facts.n * speed}, 1.0, 10, 10, False)

    monkeypatch.setattr(rehearsal, "load_of", load)
    monkeypatch.setattr(rehearsal, "available_cores", lambda: 2)
    monkeypatch.setattr("ldpsim.strategies.planning.plan.calibration", lambda: 1.0)
    monkeypatch.setattr(
        "ldpsim.strategies.planning.plan.constants", lambda: {"machine": {"calibration": 0.5, "name": "a"}}
    )
    return asked


@pytest.fixture
def mine(tmp_path: Path) -> Like:
    """A file of 200 people."""
    save(generate(200, 40, 3, seed=5), tmp_path / "mine.npz")
    return Like(RunOptions(dataset=str(tmp_path / "mine.npz"), seed=4), 200, digest="d")


@pytest.mark.parametrize(("seconds", "people"), [
    (0.0014, 40_000), (0.0016, 9600), (0.006, 9600), (0.007, 2400), (0.024, 2400), (0.026, 600), (0.1, 600),
])  # fmt: skip
def test_all_people_are_rehearsed_where_all_runs_take_less_than_a_minute(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, seconds: float, people: int
) -> None:
    """Here one method on one process, on a machine twice as slow as the measured one; miniatures are smaller."""
    asked = loads(monkeypatch, seconds / 2)
    made = planned(["vote"])
    assert made.rehearsal is not None and made.rehearsal.people == people
    assert made.rehearsal.miniature is (people < 40_000)
    assert [len(options.dataset) > 0 and options.method for options in runs] == ["vote"]
    options, facts, speed = asked[0]
    assert (options.clients, options.reference, options.nulls, facts.n, speed) == (40_000, False, True, 40_000, 2.0)


def test_two_methods_share_the_cores(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = loads(monkeypatch, 0.0007)
    made = planned(["vote", "lpgnn"])  # 2 x 2 x .0007 x 40,000 = 112 s on two cores
    assert made.rehearsal is not None and not made.rehearsal.miniature and asked[0][2] == 1.0
    assert {options.method for options in runs} == {"vote", "lpgnn"}
    alone = planned(["vote", "lpgnn"], given=RunOptions(workers=1))
    assert alone.rehearsal is not None and alone.rehearsal.miniature


def test_a_method_of_which_no_time_is_known_has_the_smallest_miniature(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads(monkeypatch, None)
    made = planned(["vote"])
    assert made.rehearsal is not None and made.rehearsal.people == 600
    with pytest.raises(ValueError, match="more than an hour: fewer --repeats"):
        planned(["vote", "sbp", "hogs", "rgnn"], given=RunOptions(repeats=1000))


def test_a_rehearsal_of_more_than_an_hour_is_refused_before_it_begins(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads(monkeypatch, 3.01)
    with pytest.raises(ValueError, match="the rehearsal on 600 people is expected to take more than an hour"):
        planned(["vote"])
    assert not runs
    loads(monkeypatch, 2.99)
    assert planned(["vote"]).rehearsal is not None
    assert planned(["vote"], worth=False).rehearsal is None


def test_a_wanted_number_of_people_is_taken(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    loads(monkeypatch, 1e-9)
    made = planned(["vote"], people=777)
    assert (
        made.rehearsal is not None and made.rehearsal.words == "miniature: 777 made-up people with the noise of 40,000"
    )


def test_a_rehearsal_that_fails_is_a_reason(runs: Runs) -> None:
    made = planned(["rr", "vote"], people=200)
    rows = {row.method: row for row in made.rows}
    assert rows["rr"].worth is None and rows["rr"].why == ("its rehearsal failed: it broke",)
    assert rows["vote"].worth is not None and made.choice is rows["vote"]
    assert (
        made.why == "60 % (miniature: 200 made-up people with the noise of 40,000), the only one that meets the wishes"
    )


def test_what_cannot_be_chosen_is_not_rehearsed(runs: Runs) -> None:
    made = planned(["hogs", "vote"], Wishes(holds=4.0), people=200)
    hogs, vote = made.rows
    assert hogs.worth is None and vote.worth is not None
    assert "reports say next to nothing (worth less than 1 point): not rehearsed" in hogs.why
    assert {options.method for options in runs} == {"vote"}
    runs.clear()
    made = planned(["hogs", "vote"], Wishes(max_bytes=5000), people=200)
    assert {options.method for options in runs} == {"hogs"} and made.rows[1].worth is None
    none = planned(["vote"], Wishes(max_bytes=5))
    assert none.rehearsal is None and none.choice is None


def test_people_of_a_file_are_rehearsed_on_as_a_run_takes_them(runs: Runs, mine: Like) -> None:
    people = datasets.load(mine.options.dataset)
    made = planned(["vote"], like=mine, facts=measured(people))
    (options,) = runs
    assert options == trial_of(options, mine, 200, None) and options.dataset == mine.options.dataset
    assert options.seeds_of(0) == mine.options.seeds_of(0) and options.clients == 200
    assert made.rehearsal == Rehearsal(200, 200, "mine", made.rehearsal.seconds if made.rehearsal else 0.0)
    assert made.rehearsal.note == "Rehearsal: 200 people of mine."
    assert made.choice is not None and "60 % (rehearsal: 200 people of mine)" in made.why
    assert command_of(made, made.choice, Path()) == (
        f"ldpsim run --method vote --dataset {shlex.quote(mine.options.dataset)} --clients 200 --seed 4"
    )


def test_more_people_than_a_file_has_are_a_miniature_on_its_people(runs: Runs, mine: Like) -> None:
    facts = replace(measured(datasets.load(mine.options.dataset)), n=5000)
    made = planned(["vote"], like=mine, facts=facts)
    assert (runs[0].clients, runs[0].dataset, runs[0].seed) == (200, mine.options.dataset, 4)
    assert made.rehearsal is not None
    assert made.rehearsal.note == (
        "Miniature: 200 people of mine with the noise of 5,000. This is an estimate without an interval."
    )
    fewer = planned(["vote"], like=mine, facts=replace(facts, n=150))
    assert runs[1].clients == 150 and fewer.rehearsal is not None and not fewer.rehearsal.miniature


def test_given_facts_make_people_up(monkeypatch: pytest.MonkeyPatch, runs: Runs) -> None:
    made_of = []
    monkeypatch.setattr(rehearsal, "miniature", miniature)
    monkeypatch.setattr(rehearsal, "save", lambda people, path: made_of.append((measured(people), path)))
    made = planned(["vote"], people=300)
    ((facts, path),) = made_of
    assert (facts.n, facts.features, facts.classes) == (300, 40, 3) and runs[0].dataset == str(path)
    assert made.rehearsal is not None and made.rehearsal.note.endswith("It is not measured on your people.")
    usual = planned(["vote"], like=Like(RunOptions()), facts=GraphFacts(5000), people=400)
    assert (runs[1].dataset, runs[1].clients) == ("generated", 400) and len(made_of) == 1
    assert usual.rehearsal is not None and usual.rehearsal.like is None


@pytest.mark.parametrize(("who", "method", "holds", "people"), [
    ("made-up", "vote", 4.0, None), ("facts", "vote", None, None), ("facts", "vote", 4.0, 240),
    ("file", "vote", 4.0, None), ("file", "vote", None, None), ("file", "rr", None, 150), ("name", "vote", 4.0, None),
])  # fmt: skip
def test_a_rehearsal_is_the_run_that_its_command_makes(
    who: str, method: str, holds: float | None, people: int | None, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Proof: the accuracy and the spread of two repeats are those of the printed command, with a wish and without."""
    options, given = (
        RunOptions(workers=1, repeats=2, seed=3, epsilon=8.7654321),
        {"homophily": 0.3} if who == "facts" else {},
    )
    if who == "file":
        save(generate(200, 40, 3, seed=5), tmp_path / "my own.npz")
        options = replace(options, dataset=str(tmp_path / "my own.npz"))
    elif who == "name":
        options = replace(options, dataset="student", data_dir=request.getfixturevalue("data_dir"))
    else:
        options = replace(options, clients=500)
    facts, like = planned_people(options, given)
    made = make_plan([method], facts, Wishes(holds=holds), like, people=people)
    (row,), folder = made.rows, write_files(made, tmp_path)[0].parent
    assert made.rehearsal is not None and made.rehearsal.miniature is (people is not None)
    words = shlex.split(command_of(made, row, folder) or "")[1:]
    alone = ["--no-reference", "--no-groups", "--no-nulls", "--out", str(tmp_path / "run"), "--json"]
    done = CliRunner(env={"LDPSIM_DATA": str(options.data_dir or "")}).invoke(app, [*words, *alone])
    assert done.exit_code == 0, done.output
    accuracy = json.loads(done.stdout)["accuracy"]
    assert row.worth is not None and (row.worth.test, row.worth.std) == (accuracy["test"], accuracy["std"])
    assert accuracy["std"] is not None


def test_what_asking_nobody_gives_in_a_rehearsal_is_what_its_command_prints() -> None:
    made = planned(["lp-and"], like=Like(RunOptions(workers=1)), facts=GraphFacts(120))
    (row,) = made.rows
    assert command_of(made, row, Path()) == "ldpsim run --method lp-and --dataset generated --clients 120"
    record = simulate(RunOptions(method="lp-and", clients=120, out=None)).record
    assert row.worth is not None and row.worth.test == record["accuracy"]["test"]
    assert row.worth.null in record["verdict"]["ask_nobody"]
    assert row.worth.nobody == shown_nulls_of(record)[row.worth.null]["test"]
    assert row.worth.over == shown_verdict(record)["over"][row.worth.null]


def test_the_row_of_a_miniature_has_the_noise_of_all() -> None:
    paper, options = OnPaper(FACTS), RunOptions(method="rr", epsilon=9.0)
    assert at_size(paper, options, 40_000) is options
    small = at_size(paper, replace(options, dataset="cora", repeats=3), 600)
    assert small.eps_adjacency is not None and small.eps_adjacency < 9 - 3
    assert (small.dataset, small.repeats) == ("cora", 3)
    for size, queries in ((603, "150"), (2400, "600")):
        made = at_size(paper, RunOptions(method="pate-m", settings={"queries": "9000"}), size)
        assert made.settings == {"queries": queries}
    vote = RunOptions(method="vote", settings={"homophily": "0.5"})
    assert at_size(paper, vote, 600).settings == vote.settings


def test_a_trial_writes_nothing_and_changes_these_options_alone(mine: Like) -> None:
    given = RunOptions(method="rr", dataset="cora", clients=70, seed=5, seeds={"training": 8}, split="split42",
                       out=Path("c"), workers=3, device="cuda", epsilon=2.5, label_rate=0.3, repeats=2)  # fmt: skip
    plain = {"out": None, "workers": None, "engine": "local", "device": "cpu", "reference": False, "force": True}
    assert trial_of(given, mine, 50, None) == replace(given, clients=50, **plain)
    assert trial_of(given, mine, 50, Path("g.npz")) == replace(
        given, dataset="g.npz", clients=None, split="random", **plain
    )
    of_reference = RunOptions(method="vote", settings={"epochs": "5"})  # vote trains no network, its reference does
    assert trial_of(of_reference, mine, 50, None).settings == {}


def test_a_run_without_an_accuracy_says_so_and_one_without_null_models_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ends(test: float | None) -> Worth:
        def run(options: RunOptions, keep_graph: bool) -> SimpleNamespace:
            assert not keep_graph
            return SimpleNamespace(record={"accuracy": {"test": test, "std": 0.1}, "devices": {"asked": 9}})

        monkeypatch.setattr("ldpsim.strategies.runs.simulate.simulate", run)
        return run_trial(RunOptions())

    assert ends(0.25) == Worth(0.25, 0.1) and ends(0.0) == Worth(0.0, 0.1)
    with pytest.raises(ValueError, match="nobody was scored"):
        ends(None)


@pytest.mark.parametrize(("gain", "asked", "told"), [(0.01, True, True), (0.0099, True, False), (0.0, False, True)])
def test_reports_of_a_hundredth_are_worth_a_run(
    monkeypatch: pytest.MonkeyPatch, gain: float, asked: bool, told: bool
) -> None:
    monkeypatch.setattr(rehearsal, "most_gained", lambda questions, people: gain)
    if not asked:
        monkeypatch.setattr(rehearsal, "questions_on_paper", lambda *given, **named: ())
    paper, row = OnPaper(FACTS), PlanRow(RunOptions(method="vote"), {}, {})
    found = rehearsal._told_enough(paper, row)
    why = ("reports say next to nothing (worth less than 1 point): not rehearsed",)
    assert (found is row) == told and found.why == (() if told else why)
    owner = PlanRow(RunOptions(method="pate-m"), {}, {})
    assert rehearsal._told_enough(paper, owner) is owner


def test_a_rehearsal_as_json() -> None:
    found = Rehearsal(600, 5000, "cora", 2.5)
    assert found.to_dict() == {"people": 600, "planned": 5000, "like": "cora", "seconds": 2.5, "miniature": True,
                               "words": "miniature: 600 people of cora with the noise of 5,000"}  # fmt: skip
