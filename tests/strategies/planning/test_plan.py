from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.estimate.load import constants
from ldpsim.strategies.estimate.machine import memory_bytes
from ldpsim.strategies.planning import plan
from ldpsim.strategies.planning.in_clear import PublicData
from ldpsim.strategies.planning.on_paper import OnPaper
from ldpsim.strategies.planning.plan import make_plan
from ldpsim.strategies.planning.rehearsal import Like, Rehearsal
from ldpsim.strategies.planning.rows import PlanRow
from ldpsim.strategies.planning.wishes import Wishes
from ldpsim.strategies.planning.worth import Worth
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions
from tests.strategies.planning.on_paper import plan_on_paper

FACTS = GraphFacts(40_000, features=40, classes=3, words=5.0)


def test_a_method_that_cannot_be_asked_has_its_reason_and_the_others_have_rows() -> None:
    given = RunOptions(settings={"m": "100000"})
    made = plan_on_paper(["vote", "rgnn"], given, FACTS, Wishes())
    assert [row.method for row in made.rows] == ["vote"] and "m=100000" in made.failures["rgnn"]
    assert made.to_dict()["cannot"] == dict(made.failures) and made.to_dict()["rehearsal"] is None


def test_a_method_without_such_a_budget_is_listed_with_the_reason() -> None:
    made = plan_on_paper(["vote", "fedavg-mlp"], RunOptions(), FACTS, Wishes(holds=4.0))
    rows = {row.method: row for row in made.rows}
    assert made.choice is rows["vote"]
    assert rows["fedavg-mlp"].why[0].startswith("no setting: unprotected")


def test_a_method_that_learns_nothing_at_the_level_meets_the_wish() -> None:
    (row,) = plan_on_paper(["ldp-fedavg"], RunOptions(), FACTS, Wishes(level="relationship", holds=2.0)).rows
    assert row.meets and row.at_level["status"] == "not asked" and row.loss == 0


def test_an_owner_is_matched_at_the_level_of_what_it_releases() -> None:
    (row,) = plan_on_paper(["pate-m"], RunOptions(), FACTS, Wishes(holds=4.0)).rows
    assert row.at_level["level"] == "central_node" and row.at_level["value"] == pytest.approx(4.0, rel=0.01)
    assert row.figures["trust"] == "trusted curator"


def test_options_that_no_method_has_are_one_line() -> None:
    with pytest.raises(ValueError, match="unknown method"):
        plan_on_paper(["votes"], RunOptions(), FACTS, Wishes())


def test_a_plan_of_which_no_method_can_be_asked_is_one_line() -> None:
    with pytest.raises(ValueError, match="rgnn cannot be asked like that: .*m=100000"):
        plan_on_paper(["rgnn"], RunOptions(settings={"m": "100000"}), FACTS, Wishes())


@pytest.mark.parametrize("name", ["epsilon", "eps_adjacency", "eps_features", "eps_labels", "feature_share"])
def test_a_budget_that_moves_no_probability_is_refused(name: str) -> None:
    said = f"{declared(RunOptions)[name].option} 9e-16: no report says anything with less than 1e-15"
    with pytest.raises(ValueError, match=said):
        plan_on_paper(["hogs"], RunOptions(**{name: 9e-16}), FACTS, Wishes())
    plan._check_budgets(RunOptions(**{name: 1e-15}, label_mechanism="grr"))
    plan._check_budgets(RunOptions(feature_share="auto", eps_labels=1.0))
    plan._check_budgets(RunOptions(feature_share=0.0))


def rows_of(*given: tuple[str, float, float]) -> list[PlanRow]:
    return [PlanRow(RunOptions(method=method), {"bytes_per_device": 1.0}, {"status": "bounded", "value": loss},
                    worth=Worth(test)) for method, loss, test in given]  # fmt: skip


def test_the_best_of_each_other_trust_and_of_other_public_data() -> None:
    made = plan_on_paper(["vote"], RunOptions(), FACTS, Wishes())
    rows = rows_of(("hogs", 1.0, 0.9), ("vote", 2.0, 0.8), ("rr", 3.0, 0.7), ("blink", 4.0, 0.75), ("upgnet", 5.0, 0.6),
                   ("pate-m", 6.0, 0.95), ("ldp-fedavg", 7.0, 0.5))  # fmt: skip
    public = {"rr": ("features",), "blink": ("features",), "upgnet": ("adjacency",)}
    rows = [replace(row, in_clear=PublicData(public.get(row.method, ()))) for row in rows]
    chosen = replace(made, rows=rows, choice=rows[0])
    assert [row.method for row in chosen.others] == ["pate-m", "blink", "upgnet"]
    assert [row.method for row in replace(chosen, choice=rows[1]).others] == ["pate-m", "hogs", "blink", "upgnet"]
    assert chosen.to_dict()["others"] == ["pate-m", "blink", "upgnet"]


def test_volunteers_are_planned_for_where_a_loss_is_wished_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """And they are the choice: plain votes and links make labels or features of ordinary people public."""
    monkeypatch.setattr(plan, "LISTED", {"vote": None, "rr": None})
    made = plan_on_paper([], RunOptions(), FACTS, Wishes(holds=4.0))
    assert [row.name for row in made.rows] == ["vote", "rr", "vote with volunteers"]
    volunteers = made.rows[2]
    assert made.choice is volunteers and volunteers.options.volunteers == plan.VOLUNTEERS
    assert volunteers.options.private_labels and volunteers.listed.asks.endswith("or the label")
    assert volunteers.loss == pytest.approx(4.0, rel=0.01)
    assert [row.name for row in made.others] == ["vote", "rr"] == made.to_dict()["others"]
    said = ("labels of 75 % of people", "everybody's features, labels of 75 % of people",
            "label and features of 10 % of people, who volunteer")  # fmt: skip
    assert tuple(row.in_clear.words for row in made.rows) == said
    assert tuple(row["in_clear"] for row in made.to_dict()["rows"]) == said
    assert all(row.asks.endswith(f"; in clear: {words}") for row, words in zip(made.rows, said, strict=True))


@pytest.mark.parametrize(("options", "wishes", "named"), [
    (RunOptions(), Wishes(), ()),  # nothing is wished for
    (RunOptions(), Wishes("relationship", holds=4.0), ()),
    (RunOptions(), Wishes(holds=4.0), ("vote", "rr")),
    (RunOptions(label_rate=0.2), Wishes(holds=4.0), ()),
    (RunOptions(private_labels=True, eps_labels=1.0), Wishes(holds=4.0), ()),
    (RunOptions(public_features=True), Wishes(holds=4.0), ()),
])  # fmt: skip
def test_volunteers_are_not_planned_for_where_somebody_said_otherwise(
    options: RunOptions, wishes: Wishes, named: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "LISTED", {"vote": None, "rr": None})
    made = plan_on_paper(named, options, FACTS, wishes)
    assert {row.name for row in made.rows} <= {"vote", "rr"} and not any("volunteers" in name for name in made.failures)


def test_volunteers_that_are_given_are_the_only_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "LISTED", {"vote": None, "sbp": None})
    made = plan_on_paper([], RunOptions(volunteers=0.25), FACTS, Wishes(holds=4.0))
    assert [(row.name, row.options.volunteers) for row in made.rows] == [("vote with volunteers", 0.25), ("sbp", 0.25)]
    assert [row.in_clear.words for row in made.rows] == [
        "label and features of 25 % of people, who volunteer", "labels of 25 % of people"
    ]  # fmt: skip


def test_a_plan_as_json() -> None:
    made = plan_on_paper(["vote"], RunOptions(), FACTS, Wishes(holds=3.0))
    plain = made.to_dict()
    assert plain["facts"] == FACTS.to_dict() and plain["wishes"] == {"level": "user", "holds": 3.0}
    assert plain["machine"] == {"memory_bytes": memory_bytes(), "constants_of": constants()["machine"]["name"]}
    assert plain["rows"] == [made.rows[0].to_dict()] and plain["choice"] == made.rows[0].to_dict()
    assert plain["why"] == made.why and plain["cannot"] == {} and plain["rehearsal"] is None
    rehearsed = replace(made, choice=None, rehearsal=Rehearsal(600, 40_000, None)).to_dict()
    assert rehearsed["choice"] is None and rehearsed["rehearsal"] == Rehearsal(600, 40_000, None).to_dict()


def test_the_accounts_say_how_far_they_are() -> None:
    told: list[tuple[str, float | None]] = []
    plan_on_paper(["vote", "rr", "hogs", "sbp"], RunOptions(), FACTS, Wishes(),
              progress=lambda phase, share: told.append((phase, share)))  # fmt: skip
    assert told == [("accounts", share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]


def test_all_methods_of_the_list_are_planned_unless_some_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "LISTED", {"vote": None, "rr": None})
    made = plan_on_paper([], RunOptions(), FACTS, Wishes())
    assert [row.method for row in made.rows] == ["vote", "rr"] and not made.failures


def test_a_plan_has_a_digest_of_all_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def digest(methods: list[str], options: RunOptions, facts: GraphFacts, wishes: Wishes, **more: Any) -> str:
        return plan_on_paper(methods, options, facts, wishes, **more).digest

    plain: tuple[Any, ...] = (["vote"], RunOptions(), FACTS, Wishes())
    found = [
        digest(*plain), digest(["rr"], *plain[1:]), digest(["vote"], RunOptions(epsilon=3.0), FACTS, Wishes()),
        digest(["vote"], RunOptions(), replace(FACTS, n=40_001), Wishes()), digest(*plain[:3], Wishes(max_bytes=1e9)),
    ]  # fmt: skip
    assert len(set(found)) == len(found) and digest(*plain) == found[0] == digest(*plain, people=7)
    monkeypatch.setattr(plan, "rehearse", lambda paper, rows, *given, **named: (rows, Rehearsal(9, 9, None)))
    likes = [Like(RunOptions(), by_facts=True), Like(RunOptions()), Like(RunOptions(), 9, digest="a"),
             Like(RunOptions(), 9, digest="b"), Like(RunOptions(nulls=False), by_facts=True)]  # fmt: skip
    digests = [make_plan(["vote"], FACTS, Wishes(), like).digest for like in likes]
    digests.append(make_plan(["vote"], FACTS, Wishes(), likes[0], people=7).digest)
    assert len({*digests, *found}) == len(digests) + len(found)


def test_a_rehearsal_is_told_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def rehearse(*given: Any, **named: Any) -> Any:
        asked.append((given, named))
        return given[1], None

    monkeypatch.setattr(plan, "rehearse", rehearse)
    monkeypatch.setattr(plan, "calibration", lambda: 0.5)
    like = Like(RunOptions(), by_facts=True)
    make_plan(["vote"], FACTS, Wishes(), like, people=7)
    (((paper, rows, wishes, people), named),) = asked
    assert paper.facts == FACTS and set(rows) == {"vote"} and wishes == Wishes() and people is like
    assert named["speed"] == 0.5 / constants()["machine"]["calibration"] and named["people"] == 7


@pytest.mark.parametrize(
    ("n", "given", "queries"), [(1000, {}, "300"), (40_000, {}, None), (1000, {"queries": "20"}, "20")]
)
def test_an_owner_asks_no_more_than_there_are_public_people(n: int, given: dict[str, str], queries: str | None) -> None:
    options = plan._fitting(RunOptions(method="pate-m", settings={"sigma1": "9", **given}), replace(FACTS, n=n))
    assert options.settings.get("queries") == queries and options.settings["sigma1"] == "9"


def test_the_budget_of_a_row_is_the_one_at_which_the_wish_holds() -> None:
    paper = OnPaper(FACTS)
    own = plan._settled(paper, RunOptions(method="vote", epsilon=5.0), Wishes(), 1.0)
    assert own.options.epsilon == 5.0 and own.loss == 5.0 and own.meets
    solved = plan._settled(paper, RunOptions(method="vote", epsilon=5.0), Wishes(max_attack=0.9), 1.0)
    assert solved.loss == pytest.approx(2.1972, rel=0.01) and solved.meets
    private = plan._settled(paper, RunOptions(method="lpgnn"), Wishes(holds=2.0), 1.0)
    assert private.meets and private.loss == pytest.approx(2.0, rel=0.01)
    for level in ("user", "node"):
        owner = plan._settled(paper, RunOptions(method="pate-m"), Wishes(level=level, holds=3.0), 1.0)
        assert owner.at_level["level"] == "central_node" and owner.loss == pytest.approx(3.0, rel=0.01)
