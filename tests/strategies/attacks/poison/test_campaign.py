"""A measurement: its cells, the rows over repeats, and options that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ldpsim.strategies.attacks.poison.campaign import PoisonOptions, campaign_of

Asked = Callable[..., PoisonOptions]


def test_cells_of_a_method(asked: Asked) -> None:
    campaign = campaign_of(asked(shares=(0.2, 0.0, 0.1), attacks=("pairs",), defences=("degree",)))
    assert [(cell.attack, cell.share, cell.options.defence) for cell in campaign.cells.values()] == [
        ("none", 0.0, "none"), ("none", 0.0, "degree"), ("silent", 0.1, "none"), ("silent", 0.2, "none"),
        ("pairs", 0.1, "none"), ("pairs", 0.1, "degree"), ("pairs", 0.2, "none"), ("pairs", 0.2, "degree"),
    ]  # fmt: skip


def test_budgets_and_defences_are_of_methods_that_have_them(asked: Asked) -> None:
    cells = campaign_of(asked("hogs", "fedavg-mlp", epsilons=(2.0, 4.0), attacks=("random",), defences=("degree",)))
    assert {(cell.options.method, cell.options.epsilon, cell.options.defence) for cell in cells.cells.values()} == {
        ("hogs", 2.0, "none"), ("hogs", 4.0, "none"), ("hogs", 2.0, "degree"), ("hogs", 4.0, "degree"),
        ("fedavg-mlp", None, "none"),
    }  # fmt: skip


def test_rows_are_over_repeats_and_paired(asked: Asked) -> None:
    campaign = campaign_of(asked(run={"repeats": 2}, attacks=("random",), defences=("degree",)))

    def result(accuracy: float, **more: Any) -> dict[str, Any]:
        return {"accuracy": accuracy, "chosen": 0.5, "liars": 12, "found": None, "false_alarms": None, "nulls": {},
                **more}  # fmt: skip

    level = {"none": 0.8, "silent": 0.7, "random": 0.4}
    results = {cell.name: result(level[cell.attack] + 0.1 * cell.number) for cell in campaign.cells.values()}
    rows = {(row["attack"], row["defence"]): row for row in campaign.rows(results)}
    assert len(rows) == 5 and all(row["repeats"] == 2 for row in rows.values())
    row = rows["random", "degree"]
    assert (row["accuracy"], row["vs_silent"]) == pytest.approx((0.45, -0.3))
    assert row["std"] == pytest.approx(0.0707, abs=1e-4) and row["found"] is None
