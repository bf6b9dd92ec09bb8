from __future__ import annotations

from typing import Any

import pytest

from benchmarks.papers.table_cell import TableCell, cell_options
from benchmarks.papers.value_row import (
    interval,
    judgement,
    null_cells,
    null_heads,
    row_of,
    with_spread,
)

CELL = TableCell("T", {"data set": "cora", "network": "gcn", "eps_x": "1", "eps_y": "2", "model": "rgnn"},
                 cell_options("rgnn", "cora", eps_features=1.0, eps_labels=2.0))  # fmt: skip


def gain(value: float, half: float = 0.01) -> dict[str, float]:
    return {"value": value, "low": value - half, "high": value + half}


def record(margin: float = 0.02, attributes: tuple[str, ...] = ("features", "label")) -> dict[str, Any]:
    """Return the sections of a result that a row reads."""
    shuffled = {name: {"test": 0.6 + 0.01 * i, "std": 0.02} for i, name in enumerate((*attributes, "all"))}
    return {
        "config_hash": "abc", "seconds": {"total": 9.0, "cpu": 7.4},
        "accuracy": {"test": 0.701, "std": 0.0123, "per_repeat": [0.7] * 10},
        "nulls": {"chance": {"test": 0.3}, "graph_alone": {"test": 0.681, "std": 0.01}, "features_alone": None,
                  "shuffled": shuffled},
        "verdict": {"above_chance": True, "above_nulls": margin > 0.01, "margin": gain(margin), "text": "Words.",
                    "bought": {name: gain(0.701 - found["test"]) for name, found in shuffled.items()}},
    }  # fmt: skip


def test_a_row_has_the_figures_of_the_result_in_percent() -> None:
    row = row_of("rgnn", CELL, record())
    assert (row["page"], row["data set"], row["model"], row["budget"]) == ("rgnn", "cora", "rgnn", "eps_x 1, eps_y 2")
    assert (row["n"], row["accuracy"], row["std"], row["chance"]) == ("10", "70.10", "1.23", "30.00")
    assert (row["graph_alone"], row["graph_alone_std"], row["features_alone"]) == ("68.10", "1.00", "")
    assert (row["shuffled_label"], row["shuffled_all"], row["shuffled_adjacency"]) == ("61.00", "62.00", "")
    assert (row["bought_features"], row["bought_features_low"], row["margin_high"]) == ("10.10", "9.10", "3.00")
    assert (row["above_nulls"], row["verdict"], row["cpu_seconds"]) == ("yes", "Words.", "7")
    assert row["command"].startswith("ldpsim run --method rgnn --dataset cora ")
    assert judgement(row) == "above every null"


def test_all_of_one_attribute_stands_once() -> None:
    row = row_of("lpgnn", CELL, record(attributes=("features",)))
    assert row["shuffled_all"] == row["bought_all"] == ""


def test_a_result_without_null_models_is_no_row() -> None:
    with pytest.raises(ValueError, match="abc has no null models"):
        row_of("rgnn", CELL, {**record(), "nulls": None, "verdict": None})


def test_cells_of_a_page_have_a_figure_or_a_dash() -> None:
    row = row_of("rgnn", CELL, record())
    shown = dict(zip(null_heads(), null_cells(row), strict=True))
    assert shown["chance"] == "30.0" and shown["graph alone"] == "68.1 ± 1.0" and shown["features alone"] == "-"
    assert shown["features of others"] == "60.0 ± 2.0" and shown["gained by features"] == "+10.1 (+9.1 to +11.1)"
    assert interval(row, "bought_adjacency") == "-" and with_spread(row, "accuracy", "std") == "70.1 ± 1.2"


@pytest.mark.parametrize(("margin", "words"), [(0.02, "above every null"), (-0.02, "below the best null"),
                                               (0.0, "as the best null, within the interval")])  # fmt: skip
def test_the_verdict_follows_the_margin(margin: float, words: str) -> None:
    row = row_of("rgnn", CELL, record(margin))
    assert judgement(row) == words
    assert judgement({**row, "above_chance": "no"}) == f"not above chance; {words}"
