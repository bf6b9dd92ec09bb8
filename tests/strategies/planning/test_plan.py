from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.curator.methods import names
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.planning import plan
from ldpsim.strategies.planning.on_paper import METHODS, asks_of
from ldpsim.strategies.planning.plan import FACTS as GIVEN
from ldpsim.strategies.planning.plan import PlanRow, Wishes, planned_people
from ldpsim.strategies.results.in_words import guess
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions
from tests.strategies.planning.on_paper import plan_on_paper

FACTS = GraphFacts(40_000, features=40, classes=3, words=5.0)


def _row(method: str, wishes: Wishes, options: RunOptions | None = None, facts: GraphFacts = FACTS) -> PlanRow:
    (row,) = plan_on_paper([method], options or RunOptions(), facts, wishes).rows
    return row


def test_all_listed_methods_say_what_they_ask() -> None:
    assert set(METHODS) <= set(names()) and len(set(METHODS)) == len(METHODS)
    assert all(asks_of(name) for name in METHODS)
    assert asks_of("hogs") == "links and features" and asks_of("gap") == "the raw record, for an owner"
    assert asks_of("vote", volunteers=True, labels=True) == "one vote on list and features, or the label"


def test_a_method_that_cannot_be_asked_has_its_reason_and_the_others_have_rows() -> None:
    made = plan_on_paper(["vote", "rgnn"], RunOptions(settings={"m": "100000"}), FACTS, Wishes())
    assert [row.name for row in made.rows] == ["vote"] and "m=100000" in made.failures["rgnn"]
    assert made.to_dict()["cannot"] == dict(made.failures)
    with pytest.raises(ValueError, match="rgnn cannot be asked like that: .*m=100000"):
        plan_on_paper(["rgnn"], RunOptions(settings={"m": "100000"}), FACTS, Wishes())
    with pytest.raises(ValueError, match="unknown method"):
        plan_on_paper(["votes"], RunOptions(), FACTS, Wishes())


@pytest.mark.parametrize("name", ["epsilon", "eps_adjacency", "eps_features", "eps_labels", "feature_share"])
def test_a_budget_that_moves_no_probability_is_refused(name: str) -> None:
    said = f"{declared(RunOptions)[name].option} 9e-16: no report says anything with less than 1e-15"
    with pytest.raises(ValueError, match=said):
        plan_on_paper(["hogs"], RunOptions(**{name: 9e-16}), FACTS, Wishes())


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
    none = plan_on_paper(["vote", "fedavg-mlp"], RunOptions(), FACTS, Wishes(max_bytes=10.0))
    assert none.choice is None and none.why.startswith("none, because no method meets every wish; the nearest is ")


def test_rows_are_ordered_by_the_rule_and_the_first_is_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a loss for a person, less in clear goes first: a vote with volunteers needs nothing of anybody else."""
    monkeypatch.setattr(plan, "METHODS", ("vote", "rr", "pate-m"))
    made = plan_on_paper([], RunOptions(), replace(FACTS, n=4000), Wishes(holds=4.0))
    assert [row.name for row in made.rows] == ["vote with volunteers", "vote", "rr", "pate-m"]
    assert [row.openness for row in made.rows] == [0, 1, 2, 3]
    assert [row.in_clear for row in made.rows] == [
        "label and features of 10 % of people, who volunteer", "labels of 75 % of people",
        "everybody's features, labels of 75 % of people", "",
    ]  # fmt: skip
    assert made.choice is made.rows[0] and made.why == f"the first of 4 that meet the wishes: {plan.RULE}"
    assert made.choice.options.private_labels and made.choice.options.volunteers == plan.SHARE
    link = plan_on_paper([], RunOptions(), FACTS, Wishes("relationship", holds=4.0)).rows
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
    made = plan_on_paper(named, options, FACTS, wishes)
    assert {row.name for row in made.rows} <= {"vote", "rr"} and not any("volunteers" in name for name in made.failures)


def test_a_plan_as_json_has_its_digest_and_says_how_far_it_is() -> None:
    told: list[tuple[str, float | None]] = []
    made = plan_on_paper(["vote", "rr"], RunOptions(), FACTS, Wishes(holds=3.0),
                         progress=lambda phase, share: told.append((phase, share)))  # fmt: skip
    assert told == [("accounts", share) for share in (0.0, 0.5, 1.0)]
    plain = made.to_dict()
    assert plain["facts"] == FACTS.to_dict() and plain["wishes"] == {"level": "user", "holds": 3.0}
    assert plain["rows"][0] == made.rows[0].to_dict() == plain["choice"] and plain["why"] == made.why
    for row in plain["rows"]:
        assert row["bytes_per_device"] == row["bytes"]["down"] + row["bytes"]["up"] and row["memory_bytes"] > 1e8
        assert row["settings"]["epsilon"] > 0 and row["mechanisms"] and set(row["holds"]) >= {"user", "relationship"}
    digests = {
        plan_on_paper(*given).digest
        for given in (
            (["vote"], RunOptions(), FACTS, Wishes()), (["rr"], RunOptions(), FACTS, Wishes()),
            (["vote"], RunOptions(epsilon=3.0), FACTS, Wishes()), (["vote"], RunOptions(), FACTS, Wishes(holds=1)),
            (["vote"], RunOptions(), replace(FACTS, n=40_001), Wishes()),
        )
    }  # fmt: skip
    assert len(digests) == 5


@pytest.mark.parametrize(
    ("n", "given", "queries"), [(1000, {}, "300"), (40_000, {}, None), (1000, {"queries": "20"}, "20")]
)
def test_an_owner_asks_no_more_than_there_are_public_people(n: int, given: dict[str, str], queries: str | None) -> None:
    row = _row("pate-m", Wishes(), RunOptions(settings=given), replace(FACTS, n=n))
    assert row.options.settings.get("queries") == queries


def test_the_command_of_a_row_is_one_that_a_run_takes() -> None:
    facts, runs = planned_people(RunOptions(clients=60_000, settings={"homophily": "0.6"}, seed=3), {})
    (row,) = plan_on_paper(["vote"], runs, facts, Wishes(holds=4.0)).rows
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
