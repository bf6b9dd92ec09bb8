"""Plans: what holds on paper, budgets and rows by bytes, and the comparison that measures the methods."""

from __future__ import annotations

import json
import shlex
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.curator.methods import find
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.datasets.npz_file import write_npz_file
from ldpsim.strategies.estimate.fits import check_fits
from ldpsim.strategies.estimate.graph_facts import GraphFacts, facts_of_people, facts_without_people
from ldpsim.strategies.estimate.traffic import miniature
from ldpsim.strategies.planning.on_paper import OnPaper
from ldpsim.strategies.planning.plan import PlanRow, TargetLoss, make_plan, planned_people
from ldpsim.strategies.results.in_words import guess
from ldpsim.strategies.results.levels_of_results import held
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.spent import guarantee_before
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import load_population

PEOPLE = RunOptions(clients=40_000, features=40, classes=3, feature_rate=0.125)


def _row(method: str, target: TargetLoss, **given: Any) -> PlanRow:
    (row,) = make_plan([method], target, replace(PEOPLE, **given)).rows
    return row


def test_a_method_that_cannot_be_asked_has_its_reason_and_the_others_have_rows() -> None:
    wrong = replace(PEOPLE, settings={"m": "100000"})
    made = make_plan(["vote", "rgnn"], TargetLoss(), wrong)
    assert [row.name for row in made.rows] == ["vote"] and "m=100000" in made.failures["rgnn"]
    assert made.to_dict()["cannot"] == dict(made.failures)
    with pytest.raises(ValueError, match="rgnn cannot be asked like that: .*m=100000"):
        make_plan(["rgnn"], TargetLoss(), wrong)
    with pytest.raises(ValueError, match="unknown method"):
        make_plan(["votes"], TargetLoss(), PEOPLE)


@pytest.mark.parametrize(
    ("method", "target", "loss"),
    [
        ("vote", TargetLoss(), 5.0), ("vote", TargetLoss(max_attack=0.9), 2.1972),
        ("lpgnn", TargetLoss(holds=2.0), 2.0),
        ("pate-m", TargetLoss(holds=3.0), 3.0), ("pate-m", TargetLoss(level="node", holds=3.0), 3.0),
        ("vote", TargetLoss(holds=4.0, max_attack=0.9), 2.1972),
    ],
)  # fmt: skip
def test_the_budget_of_a_row_is_the_one_at_which_the_loss_holds(method: str, target: TargetLoss, loss: float) -> None:
    row = _row(method, target, **({"epsilon": 5.0} if method == "vote" else {}))
    entry = row.at(target.level)
    assert not row.why and entry["value"] == pytest.approx(loss, rel=0.01)
    assert entry["level"] == ("central_node" if method == "pate-m" else target.level)
    assert entry["best_guess"] == guess(entry["value"], entry["delta"])
    assert (entry["public"] == "list") is (method == "lpgnn")
    assert row.setting is not None and (row.setting[0] == "λ") is (method == "pate-m")
    assert row.solved is (method == "vote" or target.loss is None)  # a comparison solves for no list that is public


def test_what_cannot_be_is_a_reason() -> None:
    unprotected = _row("fedavg-mlp", TargetLoss(holds=4.0))
    assert unprotected.why[0].startswith("no setting: in clear") and unprotected.setting is None
    assert (unprotected.shared, _row("vote", TargetLoss()).shared, _row("rr", TargetLoss()).shared) == (3, 1, 2)
    assert _row("hogs", TargetLoss(holds=4.0), clients=10**8).figures["memory"] == "does not fit"
    assert any("a device reads" in why for why in _row("vote", TargetLoss(), clients=10**8).why)
    learns_nothing = _row("ldp-fedavg", TargetLoss(level="relationship", holds=2.0))
    assert not learns_nothing.why and learns_nothing.at("relationship")["status"] == "not asked"
    assert TargetLoss("friendship") == TargetLoss("a friendship") == TargetLoss("relationship")
    assert TargetLoss("person") == TargetLoss()


def test_rows_are_in_the_order_of_bytes_and_nothing_is_chosen() -> None:
    made = make_plan(["vote", "rr", "pate-m", "lpgnn"], TargetLoss(holds=4.0), replace(PEOPLE, clients=4000))
    sizes = [row.figures["bytes_per_device"] for row in made.rows]
    assert sizes == sorted(sizes) and len(set(sizes)) == 4
    assert not {"choice", "meets"} & {*made.to_dict(), *made.to_dict()["rows"][0]}
    assert made.command == "ldpsim compare rr vote --match person 4 --clients 2000 --number-of-classes 3 " \
                           "--number-of-features 40 --feature-rate 0.125"  # fmt: skip


def test_a_plan_as_json_has_its_digest_and_says_how_far_it_is(tmp_path: Path) -> None:
    told: list[tuple[str, float | None]] = []
    made = make_plan(["vote", "rr"], TargetLoss(holds=3.0), PEOPLE,
                     progress=lambda phase, share: told.append((phase, share)))  # fmt: skip
    assert told == [("accounts", share) for share in (0.0, 0.5, 1.0)]
    plain = made.to_dict()
    assert plain["facts"] == made.facts.to_dict() and plain["target"] == {"level": "user", "holds": 3.0}
    assert plain["rows"][0] == made.rows[0].to_dict() and plain["command"] == made.command
    for row in plain["rows"]:
        assert row["bytes_per_device"] == row["bytes"]["down"] + row["bytes"]["up"]
        assert row["memory"] in ("fits", "close", "does not fit")
        assert row["settings"]["epsilon"] > 0 and row["mechanisms"] and set(row["holds"]) >= {"user", "relationship"}
    others = [(PEOPLE, TargetLoss()), (replace(PEOPLE, epsilon=3.0), TargetLoss()), (PEOPLE, TargetLoss(holds=1))]
    assert len({make_plan(["vote"], target, options).digest for options, target in others}) == 3
    path = made.write(tmp_path)
    assert path == tmp_path / f"plan-40000-user-{made.digest}" / "plan.json" and json.loads(path.read_text()) == plain


@pytest.mark.parametrize(
    ("n", "given", "queries"), [(1000, {}, "300"), (40_000, {}, None), (1000, {"queries": "20"}, "20")]
)
def test_an_owner_asks_no_more_than_there_are_public_people(n: int, given: dict[str, str], queries: str | None) -> None:
    row = _row("pate-m", TargetLoss(), clients=n, settings=given)
    assert row.options.settings.get("queries") == queries


@pytest.mark.parametrize(("given", "flag"), [
    ({"repeats": 3}, "--repeats"), ({"seed": 1}, "--seed"), ({"nulls": False}, "--no-nulls"),
    ({"split": "file"}, "--split"), ({"state": Path("people")}, "--state"), ({"defence": "all"}, "--defence"),
])  # fmt: skip
def test_an_option_that_no_plan_reads_is_refused(given: dict[str, Any], flag: str) -> None:
    with pytest.raises(ValueError, match=f"^nothing runs in a plan: it takes no {flag}$"):
        make_plan(["vote"], TargetLoss(), replace(PEOPLE, **given))


def test_people_are_given_facts_or_those_of_data(tmp_path: Path) -> None:
    facts = planned_people(RunOptions(clients=500, features=50, mean_degree=9.0, feature_rate=0.2))
    assert (facts.n, facts.features, facts.mean_degree, facts.words) == (500, 50, 9.0, 10.0)
    write_npz_file(generate(240, 60, 3, seed=5), tmp_path / "mine.npz")
    like = RunOptions(dataset=str(tmp_path / "mine.npz"))
    for clients, n, people in ((None, 240, 240), (100, 100, 100), (5000, 5000, 240)):
        facts = planned_people(replace(like, clients=clients))
        assert (facts.n, facts.features) == (n, 60)
        assert f" --clients {people}" in make_plan(["vote"], TargetLoss(), replace(like, clients=clients)).command
    with pytest.raises(
        ValueError, match="--mean-degree 3 has no effect: the people of .*mine.npz have their own facts"
    ):
        make_plan(["vote"], TargetLoss(), replace(like, mean_degree=3.0))


def test_a_few_people_of_own_data_can_be_asked_and_planned_for(tmp_path: Path) -> None:
    """A generated graph has 20 people or more; a file may have fewer, and its people may know everybody."""
    write_npz_file(generate(12, 10, 2, seed=5, mean_degree=3.0), tmp_path / "few.npz")
    few = RunOptions(dataset=str(tmp_path / "few.npz"), out=None)
    assert len(prepare(few).population) == 12 and len(prepare(replace(few, clients=8)).population) == 8
    check_fits(RunOptions(dataset="cora", clients=6))
    (row,) = make_plan(["vote"], TargetLoss(), few).rows
    assert row.figures["memory"] == "fits"
    write_npz_file(generate(100, 10, 2, seed=5, mean_degree=59.0), tmp_path / "dense.npz")
    dense = replace(few, dataset=str(tmp_path / "dense.npz"))
    assert planned_people(dense).mean_degree > 50 and planned_people(replace(dense, clients=40)).mean_degree == 39
    with pytest.raises(ValueError, match="^--clients 12: the generated graph has at least 20 nodes$"):
        make_plan(["vote"], TargetLoss(), RunOptions(clients=12))
    with pytest.raises(ValueError, match="1 people of 2 classes: a plan needs as many people as classes"):
        OnPaper(replace(FEW, n=1, classes=2))


def test_generated_people_have_the_facts_that_are_given() -> None:
    options = RunOptions(clients=900, mean_degree=9.0, homophily=0.4, classes=4, features=80, feature_rate=0.1)
    people, facts = load_population(options), facts_without_people(options)
    found = facts_of_people(people)
    assert (found.n, found.features, found.classes) == (facts.n, facts.features, facts.classes) == (900, 80, 4)
    assert found.mean_degree == pytest.approx(9.0, rel=0.1) and found.homophily == pytest.approx(0.4, abs=0.1)
    assert found.words == pytest.approx(8.0, rel=0.15)
    assert (
        load_population(RunOptions(clients=900)).digest
        == generate(900, seed=RunOptions().seeds_of(0).population).digest
    )


@pytest.mark.usefixtures("cells_in_this_process")
def test_the_last_command_of_a_plan_measures_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those methods, that level and that loss, on 2,000 people with the given facts."""
    monkeypatch.chdir(tmp_path)
    words = "plan hogs rr vote pate-m --clients 50000 --mean-degree 9 --homophily 0.5 --level relationship --holds 8"
    shown = CliRunner().invoke(app, [*words.split(), "--set", "epochs=2"])
    assert shown.exit_code == 0, shown.output
    command = shlex.split(shown.stdout.splitlines()[-1])
    assert command[:2] == ["ldpsim", "compare"] and set(command[2:5]) == {"hogs", "rr", "vote"}
    done = CliRunner().invoke(app, [*command[1:], "--json"])
    assert done.exit_code == 0, done.output
    results = json.loads(done.stdout)["results"]
    assert {record["method"] for record in results} == {"hogs", "rr", "vote"}
    for record in results:
        data = record["dataset"]
        assert held(record["privacy"]["holds"], "relationship")["value"] == pytest.approx(8.0, rel=0.01)
        assert data["nodes"] == 2000 and 2 * data["edges"] / 2000 == pytest.approx(9.0, rel=0.1)
        assert data["homophily"] == pytest.approx(0.5, abs=0.1)


FEW = GraphFacts(2000, features=60, words=6.0)


@pytest.fixture(scope="module")
def paper() -> OnPaper:
    return OnPaper(FEW)


@pytest.mark.parametrize("method", ["hogs", "sbp", "lpgnn", "rgnn", "blink", "symrr", "ldpgen", "vote", "pate-m"])
def test_what_holds_on_paper_is_what_holds_with_people(paper: OnPaper, method: str) -> None:
    more = {"settings": {"queries": "40"}} if method == "pate-m" else {}
    _same_with_people(paper, RunOptions(method=method, out=None, device="cpu", **more))  # type: ignore[arg-type]


def test_a_secure_sum_has_the_delta_and_the_honest_contributors_of_everybody(paper: OnPaper) -> None:
    """A share of 0.1037 is 207 volunteers of 2,000 people and 62 of 600: no multiple."""
    _same_with_people(paper, RunOptions(method="secure-sum", volunteers=0.1037, out=None, device="cpu"))
    row = _row("secure-sum", TargetLoss(level="all-features", holds=4.0), clients=50_000, volunteers=0.1)
    assert row.at("vector")["value"] == pytest.approx(4.0, rel=1e-3) and row.at("vector")["delta"] == 1e-5
    assert "1e-05)-DP" in row.figures["claimed"]["statement"]


@pytest.mark.parametrize("epsilon", [8.0, 0.3])
def test_a_calibration_group_has_its_own_size(paper: OnPaper, epsilon: float) -> None:
    """101 people at epsilon 8, and at .3 an eighth of 1,293: 48 of 600 and 97 of 1,200 are on no line to either."""
    run = RunOptions(method="vote", epsilon=epsilon, volunteers=0.1037, private_labels=True, out=None, device="cpu")
    _same_with_people(paper, run)


def _same_with_people(paper: OnPaper, options: RunOptions) -> None:
    found = paper.guarantee(paper.prepare(options))
    people = miniature(FEW, FEW.n, seed=4)
    truth = guarantee_before(prepare(options, population=people))
    assert found.claimed == truth.claimed
    assert found.to_dict()["holds"] == {
        name: {**entry, "value": entry["value"] if entry["value"] is None else pytest.approx(entry["value"], abs=2e-6)}
        for name, entry in truth.to_dict()["holds"].items()
    }


def test_a_hundred_million_people_take_no_memory_and_losses_grow_with_them() -> None:
    huge = OnPaper(replace(FEW, n=10**8))
    tracemalloc.start()
    holds = huge.guarantee(huge.prepare(RunOptions(method="rr"))).holds
    assert huge.guarantee(huge.prepare(RunOptions(method="ldp-fedavg"))).holds["user"].value is not None
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
    owner = paper._in_full(paper.prepare(RunOptions(method="pate-m")))
    split = owner.plans[0].split
    assert [len(part) for part in (split.train, split.val, split.test, split.private)] == [300_000, 0, 300_000, 400_000]
    assert replace(owner.population.facts, n=paper.sizes[0]) == paper.people[0].facts
    assert owner.population.facts.n == 10**6 and split.train.nbytes <= 8 * 10**6
    plain = paper.prepare(RunOptions(method="ldp-fedavg", label_rate=0.2))
    full, part = paper._in_full(plain).plans[0].split, plain.plans[0].split
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
