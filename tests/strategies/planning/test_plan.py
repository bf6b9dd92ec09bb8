"""Plans: what holds on paper, budgets and rows, and the files of a choice."""

from __future__ import annotations

import json
import shlex
import tomllib
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.curator.methods import find
from ldpsim.curator.methods.local.hogs import HoGS
from ldpsim.curator.reports.question import keys_of
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.estimate.traffic import miniature
from ldpsim.strategies.experiments.compare import guarantee_before
from ldpsim.strategies.flower_app.alone import default_config
from ldpsim.strategies.planning import plan
from ldpsim.strategies.planning.files import undeployable, write_files
from ldpsim.strategies.planning.on_paper import OnPaper
from ldpsim.strategies.planning.plan import FACTS as GIVEN
from ldpsim.strategies.planning.plan import Plan, PlanRow, Wishes, make_plan, planned_people
from ldpsim.strategies.results.in_words import guess
from ldpsim.strategies.runs.set_up import set_up
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import budget_of

FACTS = GraphFacts(40_000, features=40, classes=3, words=5.0)


def _row(method: str, wishes: Wishes, options: RunOptions | None = None, facts: GraphFacts = FACTS) -> PlanRow:
    (row,) = make_plan([method], facts, wishes, options or RunOptions()).rows
    return row


def test_a_method_that_cannot_be_asked_has_its_reason_and_the_others_have_rows() -> None:
    made = make_plan(["vote", "rgnn"], FACTS, Wishes(), RunOptions(settings={"m": "100000"}))
    assert [row.name for row in made.rows] == ["vote"] and "m=100000" in made.failures["rgnn"]
    assert made.to_dict()["cannot"] == dict(made.failures)
    with pytest.raises(ValueError, match="rgnn cannot be asked like that: .*m=100000"):
        make_plan(["rgnn"], FACTS, Wishes(), RunOptions(settings={"m": "100000"}))
    with pytest.raises(ValueError, match="unknown method"):
        make_plan(["votes"], FACTS, Wishes(), RunOptions())


@pytest.mark.parametrize(
    ("method", "wishes", "loss"),
    [
        ("vote", Wishes(), 5.0), ("vote", Wishes(max_attack=0.9), 2.1972), ("lpgnn", Wishes(holds=2.0), 2.0),
        ("pate-m", Wishes(holds=3.0), 3.0), ("pate-m", Wishes(level="node", holds=3.0), 3.0),
        ("vote", Wishes(holds=4.0, max_attack=0.9), 2.1972),
    ],
)  # fmt: skip
def test_the_budget_of_a_row_is_the_one_at_which_the_wish_holds(method: str, wishes: Wishes, loss: float) -> None:
    options = RunOptions(epsilon=5.0) if method == "vote" else RunOptions()
    row = _row(method, wishes, options)
    assert not row.why and row.loss == pytest.approx(loss, rel=0.01)
    assert row.at_level["level"] == ("central_node" if method == "pate-m" else wishes.level)
    assert row.at_level["best_guess"] == guess(row.at_level["value"], row.at_level["delta"])
    assert (row.at_level["public"] == "list") is (method == "lpgnn")


def test_wishes_that_are_missed_are_reasons() -> None:
    assert _row("fedavg-mlp", Wishes(holds=4.0)).why[0].startswith("no setting: in clear")
    assert _row("vote", Wishes(max_bytes=10.0)).why == ("more than 10 bytes a device",)
    huge = replace(FACTS, n=10**8)
    assert any("and this machine has" in why for why in _row("hogs", Wishes(holds=4.0), facts=huge).why)
    assert any("a device reads" in why for why in _row("vote", Wishes(), facts=huge).why)
    learns_nothing = _row("ldp-fedavg", Wishes(level="relationship", holds=2.0))
    assert not learns_nothing.why and learns_nothing.loss == 0
    assert Wishes("friendship") == Wishes("a friendship") == Wishes("relationship") and Wishes("person") == Wishes()
    none = make_plan(["vote", "fedavg-mlp"], FACTS, Wishes(max_bytes=10.0), RunOptions())
    assert none.choice is None and none.why.startswith("none, because no method meets every wish; the nearest is ")


def test_rows_are_ordered_by_the_rule_and_the_first_is_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a loss for a person, less in clear goes first: a vote with volunteers needs nothing of anybody else."""
    monkeypatch.setattr(plan, "METHODS", ("vote", "rr", "pate-m"))
    made = make_plan([], replace(FACTS, n=4000), Wishes(holds=4.0), RunOptions())
    assert [row.name for row in made.rows] == ["vote with volunteers", "vote", "rr", "pate-m"]
    assert [row.openness for row in made.rows] == [0, 1, 2, 3]
    assert [row.in_clear for row in made.rows] == [
        "label and features of 10 % of people, who volunteer", "labels of 75 % of people",
        "everybody's features, labels of 75 % of people", "",
    ]  # fmt: skip
    assert made.choice is made.rows[0] and made.why == f"the first of 4 that meet the wishes: {plan.RULE}"
    assert made.choice.options.private_labels and made.choice.options.volunteers == plan.SHARE
    link = make_plan([], FACTS, Wishes("relationship", holds=4.0), RunOptions()).rows
    assert [row.loss for row in link if not row.why] == sorted(row.loss for row in link if not row.why)


@pytest.mark.parametrize(("options", "wishes", "named"), [
    (RunOptions(), Wishes(), ()),  # nothing is wished for
    (RunOptions(), Wishes("relationship", holds=4.0), ()),
    (RunOptions(), Wishes(holds=4.0), ("vote", "rr")),
    (RunOptions(label_rate=0.2), Wishes(holds=4.0), ()),
    (RunOptions(public_features=True), Wishes(holds=4.0), ()),
])  # fmt: skip
def test_volunteers_are_not_planned_for_where_somebody_said_otherwise(
    options: RunOptions, wishes: Wishes, named: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "METHODS", ("vote", "rr"))
    made = make_plan(named, FACTS, wishes, options)
    assert {row.name for row in made.rows} <= {"vote", "rr"} and not any("volunteers" in name for name in made.failures)


def test_a_plan_as_json_has_its_digest_and_says_how_far_it_is() -> None:
    told: list[tuple[str, float | None]] = []
    made = make_plan(["vote", "rr"], FACTS, Wishes(holds=3.0), RunOptions(),
                         progress=lambda phase, share: told.append((phase, share)))  # fmt: skip
    assert told == [("accounts", share) for share in (0.0, 0.5, 1.0)]
    plain = made.to_dict()
    assert plain["facts"] == FACTS.to_dict() and plain["wishes"] == {"level": "user", "holds": 3.0}
    assert plain["rows"][0] == made.rows[0].to_dict() == plain["choice"] and plain["why"] == made.why
    for row in plain["rows"]:
        assert row["bytes_per_device"] == row["bytes"]["down"] + row["bytes"]["up"] and row["memory_bytes"] > 1e8
        assert row["settings"]["epsilon"] > 0 and row["mechanisms"] and set(row["holds"]) >= {"user", "relationship"}
    others = [(RunOptions(), Wishes()), (RunOptions(epsilon=3.0), Wishes()), (RunOptions(), Wishes(holds=1))]
    assert len({make_plan(["vote"], FACTS, wishes, options).digest for options, wishes in others}) == 3


@pytest.mark.parametrize(
    ("n", "given", "queries"), [(1000, {}, "300"), (40_000, {}, None), (1000, {"queries": "20"}, "20")]
)
def test_an_owner_asks_no_more_than_there_are_public_people(n: int, given: dict[str, str], queries: str | None) -> None:
    row = _row("pate-m", Wishes(), RunOptions(settings=given), replace(FACTS, n=n))
    assert row.options.settings.get("queries") == queries


def test_the_command_of_a_row_is_one_that_a_run_takes() -> None:
    facts, runs = planned_people(RunOptions(clients=60_000, settings={"homophily": "0.6"}, seed=3), {})
    (row,) = make_plan(["vote"], facts, Wishes(holds=4.0), runs).rows
    wanted = "ldpsim run --method vote --dataset generated --clients 60000 --epsilon 4 --set homophily=0.6 --seed 3"
    assert row.command == wanted
    assert CliRunner().invoke(app, [*shlex.split(row.command)[1:], "--help"]).exit_code == 0


def test_people_are_given_facts_or_those_of_data(tmp_path: Any) -> None:
    from ldpsim.devices.datasets.generated import generate
    from ldpsim.devices.datasets.npz_file import write_npz_file

    facts, _ = planned_people(RunOptions(clients=500), {"features": 50, "mean_degree": 9.0}, 0.2)
    assert (facts.n, facts.features, facts.mean_degree, facts.words) == (500, 50, 9.0, 10.0)
    write_npz_file(generate(240, 60, 3, seed=5), tmp_path / "mine.npz")
    like = RunOptions(dataset=str(tmp_path / "mine.npz"))
    for clients, n, run in ((None, 240, None), (100, 100, 100), (5000, 5000, None)):
        facts, runs = planned_people(replace(like, clients=clients), {})
        assert (facts.n, facts.features, runs.clients) == (n, 60, run)
    with pytest.raises(ValueError, match="its people have their own facts"):
        planned_people(like, {GIVEN[0]: 3.0})
    with pytest.raises(ValueError, match="--feature-rate 7"):
        planned_people(RunOptions(), {}, 7.0)


FEW = GraphFacts(2000, features=60, words=6.0)


@pytest.fixture(scope="module")
def paper() -> OnPaper:
    return OnPaper(FEW)


@pytest.mark.parametrize("method", ["hogs", "sbp", "lpgnn", "rgnn", "blink", "symrr", "ldpgen", "vote", "pate-m"])
def test_what_holds_on_paper_is_what_holds_with_people(paper: OnPaper, method: str) -> None:
    more = {"settings": {"queries": "40"}} if method == "pate-m" else {}
    options = RunOptions(method=method, out=None, device="cpu", **more)  # type: ignore[arg-type]
    found = paper.guarantee(paper.set_up(options))
    people = miniature(FEW, FEW.n, seed=4)
    truth = guarantee_before(set_up(options, population=people))
    assert found.to_dict()["holds"] == {
        name: {**entry, "value": entry["value"] if entry["value"] is None else pytest.approx(entry["value"], abs=2e-6)}
        for name, entry in truth.to_dict()["holds"].items()
    }


def test_a_hundred_million_people_take_no_memory_and_losses_grow_with_them() -> None:
    huge = OnPaper(replace(FEW, n=10**8))
    tracemalloc.start()
    holds = huge.guarantee(huge.set_up(RunOptions(method="rr"))).holds
    assert huge.guarantee(huge.set_up(RunOptions(method="ldp-fedavg"))).holds["user"].value is not None
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()
    assert holds["bit_adjacency"].value == 8 and holds["relationship"].value == 16
    assert holds["user"].private_value == pytest.approx(8 * (10**8 - 1))


def test_a_budget_is_solved_for_people_who_are_not_there() -> None:
    paper = OnPaper(replace(FEW, n=10**6))
    found = paper.match(RunOptions(method="lp-and"), "user", 4.0)
    assert found.holds == pytest.approx(4.0, rel=1e-3) and found.options.epsilon == pytest.approx(4e-6, rel=1e-3)
    vote = paper.match(RunOptions(method="vote"), "user", 4.0)
    assert vote.options.epsilon == pytest.approx(4.0)


def test_the_private_part_is_solved_where_a_part_of_the_record_is_public(paper: OnPaper) -> None:
    found = paper.match(RunOptions(method="lpgnn"), "user", 2.0)
    assert found.of_reports and found.holds == pytest.approx(2.0, rel=1e-3)
    assert paper.match(RunOptions(method="fedavg-mlp"), "user", 2.0).reason.startswith("in clear")
    assert find("fedavg-mlp").spec.trust == "trusted curator"


def test_an_owner_has_the_full_numbers_of_people() -> None:
    paper = OnPaper(replace(FEW, n=10**6))
    owner = paper._in_full(paper.set_up(RunOptions(method="pate-m")))
    split = owner.repeats[0].split
    assert [len(part) for part in (split.train, split.val, split.test, split.private)] == [300_000, 0, 300_000, 400_000]
    assert replace(owner.population.facts, n=paper.sizes[0]) == paper.people[0].facts
    assert owner.population.facts.n == 10**6 and split.train.nbytes <= 8 * 10**6
    plain = paper.set_up(RunOptions(method="ldp-fedavg", label_rate=0.2))
    full, part = paper._in_full(plain).repeats[0].split, plain.repeats[0].split
    share = 10**6 / paper.sizes[0]
    assert [len(each) for each in (full.train, full.val, full.test)] == [
        round(share * len(each)) for each in (part.train, part.val, part.test)
    ]


@pytest.mark.parametrize(("more", "said"), [
    ({"classes": 1001}, "1,001 classes: a plan takes up to 1,000"),
    ({"features": 100_001}, "100,001 features: a plan takes up to 100,000"),
    ({"features": 9000, "words": 5000.6}, "5,001 features of a person that are not 0: a plan takes up to 5,000"),
])  # fmt: skip
def test_small_graphs_that_would_be_large_are_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        OnPaper(replace(FEW, n=10**6, **more))


@pytest.fixture(scope="module")
def made() -> Plan:
    wishes = Wishes(holds=4.0)
    return make_plan(["vote"], GraphFacts(60_000), wishes, RunOptions(clients=60_000, settings={"homophily": "0.6"}))


def test_a_deployment_file_is_a_configuration_of_the_flower_app(made: Plan, tmp_path: Path) -> None:
    files = {path.name: path for path in write_files(made, tmp_path)}
    text = files["deployment.toml"].read_text()
    values = tomllib.loads(text)
    assert set(values) <= set(default_config()) and values["method"] == "vote"
    assert values["epsilon"] == pytest.approx(4.0)
    assert "4 holds at the level of a person" in text and values["settings"] == "homophily=0.6"
    facts = json.loads(
        next(line for line in text.splitlines() if "facts.json" in line).split(": ", 1)[1].partition(", with")[0]
    )
    assert facts["facts"]["n"] == 60_000
    assert json.loads(files["plan.json"].read_text())["choice"]["method"] == "vote"


def test_a_deployment_asks_the_question_of_the_plan(tmp_path: Path) -> None:
    """Every given option is in the file; the app reads them, and asks what a run with the same options asks."""
    from ldpsim.strategies.flower_app.deployed import PublicFile, _method_of, _questions

    options = RunOptions(feature_share=0.3, reporting="one-end", eps_labels=2.0, private_labels=True, gnn="sage",
                         label_mechanism="subset_selection", settings={"tau": "0.7", "epochs": "5"})  # fmt: skip
    made = make_plan(["hogs"], GraphFacts(300), Wishes(), options)
    (path,) = (path for path in write_files(made, tmp_path) if path.name == "deployment.toml")
    config = {**default_config(), **tomllib.loads(path.read_text())}
    facts = GraphFacts(300).public()
    public = PublicFile(facts, np.full(300, -1))
    method, budget, training = _method_of(config, public)
    assert (method, training.gnn, training.epochs) == (HoGS(tau=0.7), "sage", 5)
    assert budget == budget_of(options, public_features=False)
    split = public.split(0)
    asked = _questions(method, public, split, budget, "c")
    assert keys_of(asked) == keys_of(method.questions(facts, split, budget, "c"))
    rehearsed = made.rows[0].command
    for words in ("--feature-share 0.3", "--reporting one-end", "--eps-labels 2", "--private-labels", "--gnn sage",
                  "--label-mechanism subset_selection", "--set tau=0.7"):  # fmt: skip
        assert words in rehearsed


def test_what_a_deployment_cannot_carry_leaves_no_file(tmp_path: Path) -> None:
    made = make_plan(["hogs"], GraphFacts(300), Wishes(), RunOptions(public_features=True))
    assert made.choice is not None
    assert undeployable(made.choice) == "its configuration has no key for --public-features"
    assert "deployment.toml" not in {path.name for path in write_files(made, tmp_path)}


def test_files_of_an_earlier_choice_are_removed(made: Plan, tmp_path: Path) -> None:
    first = write_files(made, tmp_path)
    folder = first[0].parent
    assert [path.name for path in first] == ["plan.json", "deployment.toml"]
    assert folder == tmp_path / f"plan-60000-user-{made.digest}"
    (folder / "plan.html").write_text("old")
    (folder / "mine.txt").write_text("kept")
    assert write_files(replace(made, rows=[replace(made.rows[0], why=("no",))]), tmp_path) == (folder / "plan.json",)
    assert sorted(path.name for path in folder.iterdir()) == ["mine.txt", "plan.json"]
    assert write_files(made, tmp_path) == first and not (folder / "plan.html").exists()
