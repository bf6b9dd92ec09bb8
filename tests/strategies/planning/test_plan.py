from __future__ import annotations

from dataclasses import replace

import pytest

from strategies.estimate.graph_facts import GraphFacts
from strategies.planning.plan import make_plan
from strategies.planning.wishes import Wishes
from strategies.setup.options import RunOptions

FACTS = GraphFacts(40_000, features=40, classes=3, words=5.0)


def test_a_method_that_cannot_be_asked_has_its_reason_and_the_others_have_rows() -> None:
    given = RunOptions(settings={"m": "100000"})
    made = make_plan(["vote", "rgnn"], given, FACTS, Wishes(), worth=False)
    assert [row.method for row in made.rows] == ["vote"] and "m=100000" in made.failures["rgnn"]
    assert made.to_dict()["cannot"] == dict(made.failures) and made.to_dict()["simulation"] is None


def test_a_method_without_such_a_budget_is_listed_with_the_reason() -> None:
    made = make_plan(["vote", "fedavg-mlp"], RunOptions(), FACTS, Wishes(holds=4.0), worth=False)
    rows = {row.method: row for row in made.rows}
    assert made.choice is rows["vote"]
    assert rows["fedavg-mlp"].why[0].startswith("no setting: unprotected")


def test_a_method_that_learns_nothing_at_the_level_meets_the_wish() -> None:
    (row,) = make_plan(["ldp-fedavg"], RunOptions(), FACTS, Wishes(level="relationship", holds=2.0), worth=False).rows
    assert row.meets and row.at_level["status"] == "not asked" and row.loss == 0


def test_an_owner_is_matched_at_the_level_of_what_it_releases() -> None:
    (row,) = make_plan(["pate-m"], RunOptions(), FACTS, Wishes(holds=4.0), worth=False).rows
    assert row.at_level["level"] == "central_node" and row.at_level["value"] == pytest.approx(4.0, rel=0.01)
    assert row.figures["trust"] == "trusted curator"


def test_options_that_no_method_has_are_one_line() -> None:
    with pytest.raises(ValueError, match="--no-worth"):
        make_plan(["vote"], RunOptions(), FACTS, Wishes(accuracy=0.5), worth=False)
    with pytest.raises(ValueError, match="unknown method"):
        make_plan(["votes"], RunOptions(), FACTS, Wishes(), worth=False)


def test_a_plan_names_its_data_where_it_has_some() -> None:
    made = make_plan(["vote"], RunOptions(), FACTS, Wishes(), worth=False)
    assert made.data_name is None
    assert replace(made, data=RunOptions(dataset="generated-v1")).data_name == "generated-v1"
