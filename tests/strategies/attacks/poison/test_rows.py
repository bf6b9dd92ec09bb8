"""Rows: paired differences, goals, breakdown shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from strategies.attacks.poison.campaign import all_cells
from strategies.attacks.poison.cell import liars_of, packed_classes, set_up_cell
from strategies.attacks.poison.options import PoisonCell, PoisonOptions
from strategies.attacks.poison.rows import breakdown, kind_of, poison_rows


def result(cell: PoisonCell, predictions: np.ndarray, **more: Any) -> dict[str, Any]:
    return {"cell": cell.name, "predictions": packed_classes(predictions), "flagged": None, "nulls": {}, **more}


@pytest.fixture
def made(asked: Callable[..., PoisonOptions]) -> tuple[list[PoisonCell], dict[str, Any]]:
    """Return cells and results: everybody right without lies, half wrong with responses."""
    cells = all_cells(asked(attacks=("copy",), goal="inflate", target_class=1))
    labels = set_up_cell(cells[0]).population.labels
    wrong = np.where(np.arange(len(labels)) % 2, labels, 1)
    edges = {"fakes_accepted": 2.0, "true_lost": 1.0, "true": 4.0, "connected": 0.5}
    results = {}
    for cell in cells:
        lied = cell.lie == "response"
        flagged = [int(person) for person in liars_of(cell, 60)[:3]] if lied else None
        results[cell.name] = {**result(cell, wrong if lied else labels, edges={"0.2": edges, "0": edges}),
                              "flagged": flagged}  # fmt: skip
    return cells, results


def test_rows(made: tuple[list[PoisonCell], dict[str, Any]]) -> None:
    cells, results = made
    rows = {(row["attack"], row["lie"]): row for row in poison_rows(cells, results)}
    assert set(rows) == {("none", ""), ("silent", ""), ("copy", "input"), ("copy", "response")}
    setup, response = set_up_cell(cells[0]), rows["copy", "response"]
    labels, liars = setup.population.labels, liars_of(cells[-1], 60)
    honest = np.setdiff1d(setup.repeats[0].split.test, liars)
    right = np.mean((honest % 2 == 1) | (labels[honest] == 1))
    assert response["accuracy"] == pytest.approx(right)
    assert response["vs_silent"] == response["vs_clean"] == pytest.approx(right - 1)
    assert rows["copy", "input"]["vs_silent"] == 0
    assert response["goal_value"] == response["target_success"] > response["goal_clean"]
    assert response["goal_clean"] == pytest.approx(np.mean(labels[np.setdiff1d(np.arange(60), liars)] == 1))
    assert response["found"] == pytest.approx(3 / 12) and response["false_alarms"] == response["honest_rejected"] == 0
    assert response["fakes_accepted"] == 2.0 and response["passed"] is None
    assert rows["none", ""]["honest_test"] == len(setup.repeats[0].split.test)


def test_cells_without_a_result_have_no_row(made: tuple[list[PoisonCell], dict[str, Any]]) -> None:
    cells, results = made
    some = {name: found for name, found in results.items() if "copy" not in name}
    assert [row["attack"] for row in poison_rows(cells, some)] == ["none", "silent"]


def row(**given: Any) -> dict[str, Any]:
    return {"method": "hogs", "epsilon": 4.0, "attack": "fakes", "lie": "input", "defence": "none", "share": 0.1,
            "vs_silent": -0.01, **given}  # fmt: skip


def test_breakdown_is_the_smallest_share_that_costs_5_points() -> None:
    rows = [row(), row(share=0.2, vs_silent=-0.06), row(share=0.4, vs_silent=-0.2), row(lie="response"),
            row(attack="silent", lie="", vs_silent=0.0), row(attack="none", lie="", vs_silent=None)]  # fmt: skip
    assert breakdown(rows) == {"hogs eps 4 fakes input": 0.2, "hogs eps 4 fakes response": None}
    assert kind_of(row(epsilon=None, defence="weight")) == "hogs fakes input weight"


def test_a_defence_is_compared_with_the_same_lies(asked: Callable[..., PoisonOptions]) -> None:
    cells = all_cells(asked(attacks=("fakes",), lies=("response",), defences=("weight",)))
    labels = set_up_cell(cells[0]).population.labels
    wrong = np.where(np.arange(len(labels)) % 2, labels, (labels + 1) % 5)
    broken = {cell.name: cell.attack == "fakes" and cell.defence == "none" for cell in cells}
    results = {cell.name: result(cell, wrong if broken[cell.name] else labels) for cell in cells}
    rows = {(row["attack"], row["defence"]): row for row in poison_rows(cells, results)}
    assert rows["fakes", "none"]["vs_undefended"] is None and rows["none", "weight"]["vs_undefended"] == 0
    gained = rows["fakes", "weight"]["vs_undefended"]
    assert gained == pytest.approx(1 - rows["fakes", "none"]["accuracy"]) and gained > 0


def test_rows_of_accounts(asked: Callable[..., PoisonOptions]) -> None:
    cells = all_cells(asked(inject=(6.0,), attacks=("join-class",), lies=("response",)))
    labels = set_up_cell(cells[0]).population.labels
    wrong = np.where(np.arange(60) % 2, labels, (labels + 1) % 5)
    results = {}
    for cell in cells:
        people = len(set_up_cell(cell).population)
        predictions = np.concatenate([wrong if cell.attack == "join-class" else labels, np.zeros(people - 60, int)])
        results[cell.name] = result(cell, predictions)
    rows = {row["attack"]: row for row in poison_rows(cells, results)}
    joined, test = rows["join-class"], set_up_cell(cells[0]).repeats[0].split.test
    assert rows["none"]["accounts"] == 0 and joined["accounts"] == 6 and joined["share"] == 0.1
    assert joined["honest_test"] == len(test) and joined["accuracy"] == pytest.approx(np.mean(test % 2))
    assert joined["vs_silent"] == joined["vs_clean"] == pytest.approx(np.mean(test % 2) - 1)
    assert joined["per_point"] == pytest.approx(6 / (100 * (1 - np.mean(test % 2))))
    assert joined["one_hop_lost"] is not None and joined["one_hop_goal"] > 0
    assert rows["silent"]["per_point"] is None


def test_the_yardstick_of_accounts(asked: Callable[..., PoisonOptions]) -> None:
    def rows(method: str, attack: str, epsilon: float) -> dict[str, Any]:
        cells = all_cells(asked(method, inject=(0.3,), attacks=(attack,), lies=("response",), run={"epsilon": epsilon}))
        people = [len(set_up_cell(cell).population) for cell in cells]
        made = {cell.name: result(cell, np.zeros(n, int)) for cell, n in zip(cells, people, strict=True)}
        return poison_rows(cells, made)[-1]

    flood, quiet = rows("hogs", "join-flood", 2.0), rows("hogs", "join-flood", 40.0)
    assert flood["one_hop_lost"] > 0.05 > abs(quiet["one_hop_lost"]) and flood["one_hop_per_point"] >= 1
    assert flood["one_hop_goal"] > quiet["one_hop_goal"] > 0
    chosen = rows("lpgnn", "join-pairs", 2.0)  # a public graph: every edge of an account counts
    assert chosen["one_hop_goal"] > 0.9
    assert rows("hogs", "join-random", 2.0)["one_hop_lost"] is None
    assert rows("vote", "join-class", 2.0)["one_hop_lost"] is None  # no row is reported
