from __future__ import annotations

from typing import Any

import pytest

from strategies.results.shown_nulls import (
    COLUMNS,
    NULLS,
    STANDINGS,
    asking_nobody,
    best_null,
    null_columns,
    nulls_of,
    verdict_of,
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
    found = nulls_of({"nulls": SECTION})
    assert list(found) == ["chance", "features_alone", "shuffled_label", "shuffled_all"]
    assert found["shuffled_all"] == {"test": 0.6, "std": 0.02} and found["chance"]["std"] is None
    assert [nulls_of(record) for record in ({}, {"nulls": None})] == [{}, {}]


def test_every_name_has_its_attribute() -> None:
    attributes = {name: spec.attribute for name, spec in NULLS.items() if spec.attribute}
    assert attributes == {f"shuffled_{name}": name for name in ("features", "adjacency", "label", "all")}


def test_the_best_null_model_is_not_chance_unless_it_is_alone() -> None:
    found = nulls_of({"nulls": SECTION})
    assert best_null(found) == "shuffled_all"
    assert best_null({"chance": found["chance"]}) == "chance"
    assert best_null({}) is None


MARGIN = {"value": 0.01, "low": -0.01, "high": 0.03}


@pytest.mark.parametrize(
    ("changes", "standing"),
    [
        ({}, "alone"), ({"above_chance": None}, ""), ({"above_chance": False}, "chance"),
        ({"above_chance": False, "above_nulls": True, "margin": {**MARGIN, "low": 0.005}}, "chance"),
        ({"above_nulls": True, "margin": {**MARGIN, "low": 0.005}}, "above"),
        ({"above_nulls": False, "margin": MARGIN}, "even"),
        ({"above_nulls": False, "margin": {**MARGIN, "high": -0.001}}, "below"),
    ],
)  # fmt: skip
def test_the_standing_of_a_method(changes: dict[str, Any], standing: str) -> None:
    found = verdict_of(said(**changes))
    assert found is not None and found["standing"] == standing and standing in STANDINGS


def test_columns_are_the_same_for_every_result() -> None:
    verdict = verdict_of(said(above_nulls=False, margin=MARGIN))
    row = null_columns(nulls_of({"nulls": SECTION}), verdict)
    assert tuple(row) == tuple(null_columns({}, verdict_of({}))) == COLUMNS
    assert (row["chance"], row["shuffled_all_std"], row["graph_alone"]) == (0.9, 0.02, None)
    assert (row["margin_low"], row["standing"], row["verdict"]) == (-0.01, "even", "text")
    assert set(null_columns({}, None).values()) == {None}


PUBLIC, REPORTED = {"status": "unprotected", "detail": "edges are public in this setting"}, {"status": "bounded"}
IN_CLEAR = {"status": "unprotected", "detail": "sent in clear"}


@pytest.mark.parametrize(
    ("edges", "features", "label", "asked", "expected"),
    [
        (REPORTED, REPORTED, PUBLIC, 9, "chance"), (REPORTED, IN_CLEAR, PUBLIC, 9, "chance"),
        (PUBLIC, REPORTED, PUBLIC, 9, "graph_alone"), (PUBLIC, PUBLIC, PUBLIC, 9, "features_alone"),
        (PUBLIC, PUBLIC, REPORTED, 9, "chance"), (PUBLIC, PUBLIC, PUBLIC, 0, None),
    ],
)  # fmt: skip
def test_asking_nobody_leaves_what_public_data_give(
    edges: dict[str, Any], features: dict[str, Any], label: dict[str, Any], asked: int, expected: str | None
) -> None:
    nulls = {"chance": {"test": 0.2}, "graph_alone": {"test": 0.5}, "features_alone": {"test": 0.6}}
    levels = {"relationship": edges, "bit_feature": features, "label": label}
    holds = {name: {"detail": "", **entry} for name, entry in levels.items()}
    record = {"nulls": nulls, "privacy": {"holds": holds}, "devices": {"asked": asked}}
    assert asking_nobody(record) == expected
    assert asking_nobody({**record, "nulls": None}) is None
