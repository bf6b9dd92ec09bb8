from __future__ import annotations

from typing import Any

import pytest

from ldpsim.strategies.results.verdict import (
    NULLS,
    STANDINGS,
    asking_nobody,
    asks_nobody,
    best_null,
    null_columns,
    shown_nulls_of,
    shown_verdict,
)

SECTION = {
    "chance": {"test": 0.9},
    "graph_alone": None,
    "features_alone": {"test": 0.5, "std": 0.01},
    "shuffled": {"label": {"test": 0.4, "std": None}, "all": {"test": 0.6, "std": 0.02}},
}


def said(**changes: Any) -> dict[str, Any]:
    return {"verdict": {"above_chance": True, "above_nulls": None, "margin": None, "text": "text", **changes}}


def test_null_models_in_the_order_of_their_names() -> None:
    found = shown_nulls_of({"nulls": SECTION})
    assert list(found) == ["chance", "features_alone", "shuffled_label", "shuffled_all"]
    assert found["shuffled_all"] == {"test": 0.6, "std": 0.02} and found["chance"]["std"] is None
    assert [shown_nulls_of(record) for record in ({}, {"nulls": None})] == [{}, {}]


def test_chance_is_a_null_model_as_the_others_are() -> None:
    found = shown_nulls_of({"nulls": SECTION})
    assert best_null(found) == "chance"
    assert best_null({**found, "chance": {"test": 0.55}}) == "shuffled_all"
    assert best_null({"features_alone": {"test": 0.5}, "chance": {"test": 0.5}}) == "chance"
    assert best_null({}) is None


MARGIN = {"value": 0.01, "low": -0.01, "high": 0.03}


@pytest.mark.parametrize(
    ("changes", "standing"),
    [
        ({}, "alone"), ({"above_chance": None}, ""), ({"above_chance": False}, "chance"),
        ({"above_chance": False, "above_nulls": True, "margin": {**MARGIN, "low": 0.005}}, "chance"),
        ({"above_nulls": True, "margin": {**MARGIN, "low": 0.005}}, "unjudged"),
        ({"above_nulls": False, "margin": MARGIN}, "even"),
        ({"above_nulls": False, "margin": {**MARGIN, "high": -0.001}}, "below"),
    ],
)  # fmt: skip
def test_the_standing_of_a_method(changes: dict[str, Any], standing: str) -> None:
    found = shown_verdict(said(**changes))
    assert found is not None and found["standing"] == standing and standing in STANDINGS


@pytest.mark.parametrize(
    ("section", "standing"),
    [
        ({"chance": {"test": 0.3}}, "unjudged"), ({"shuffled": {"all": {"test": 0.3}}}, "unjudged"),
        ({"features_alone": {"test": 0.3}}, "above"), ({"graph_alone": {"test": 0.3}}, "above"),
    ],
)  # fmt: skip
def test_praise_needs_a_null_model_that_learns_alone(section: dict[str, Any], standing: str) -> None:
    """Above chance and above other people's data is not green: the graph or the features alone may give as much."""
    record = said(above_nulls=True, margin={**MARGIN, "low": 0.005})
    nulls = {"chance": {"test": 0.2}, **section}
    found = shown_verdict({**record, "nulls": nulls})
    assert found is not None and found["standing"] == standing
    assert STANDINGS[standing][1] == ("good" if standing == "above" else "open")


def test_columns_are_the_same_for_every_result() -> None:
    verdict = shown_verdict(said(above_nulls=False, margin=MARGIN))
    row = null_columns(shown_nulls_of({"nulls": SECTION}), verdict)
    assert tuple(row) == tuple(null_columns({}, shown_verdict({})))
    assert (row["chance"], row["shuffled_all_std"], row["graph_alone"]) == (0.9, 0.02, None)
    assert (row["margin_low"], row["standing"], row["verdict"]) == (-0.01, "even", "text")
    assert set(null_columns({}, None).values()) == {None}


def test_asking_nobody_leaves_what_public_data_give() -> None:
    nulls = {"chance": {"test": 0.2}, "graph_alone": {"test": 0.5}, "features_alone": {"test": 0.6}}
    record = {"nulls": nulls, "devices": {"asked": 9}, "verdict": {"ask_nobody": ["chance", "graph_alone"]}}
    assert asking_nobody(record) == "graph_alone"
    assert asking_nobody({**record, "devices": {"asked": 0}}) is None is asking_nobody({**record, "verdict": None})


@pytest.mark.parametrize(
    ("reported", "names"),
    [
        ((), {"graph_alone", "graph_learned", "features_alone"}),
        (("adjacency",), {"features_alone"}),
        (("features",), {"graph_alone", "graph_learned"}),
        (("label",), set()),
        (("adjacency", "features"), set()),
    ],
)
def test_a_null_model_asks_nobody_if_nobody_reports_what_it_reads(reported: tuple[str, ...], names: set[str]) -> None:
    """The method on shuffled data is one of them only where all that is private is shuffled."""
    found = {name for name in NULLS if asks_nobody(name, reported)}
    assert found == names | {"chance", "shuffled_all"}
