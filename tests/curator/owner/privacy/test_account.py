"""Accounts of PrivGnn and PATE."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas
import pytest

from ldpsim.curator.owner.privacy.account import (
    Account,
    LabelRelease,
    account,
    printed_by,
)
from ldpsim.curator.owner.privacy.label import label_epsilon, label_loss
from ldpsim.curator.owner.privacy.vector import laplace_epsilon
from ldpsim.devices.mechanisms import round_up

DATA = Path(__file__).with_name("data")
DATA_DEPENDENT = ("pate-g", "Amazon", 1000, 1.0)  # 1967.58 in the table: depends on the votes


PRINTED = pandas.read_csv(DATA / "privgnn_printed_epsilon.csv").to_dict("records")


def release(row: dict[str, Any], **more: Any) -> LabelRelease:
    gamma = 0.3 if math.isnan(row["gamma"]) else row["gamma"]
    return LabelRelease(
        queries=row["queries"], lambda_=row["lambda"], delta=row["delta"], classes=row["classes"], gamma=gamma, **more
    )


def cut(value: float) -> float:
    """Return a figure as the tables print it: cut, not rounded, at two decimals."""
    return math.floor(100 * value) / 100


def test_all_that_the_paper_prints_for_privgnn() -> None:
    for row in PRINTED:
        if row["method"] == "privgnn":
            epsilon, delta = printed_by("privgnn", release(row))
            assert cut(epsilon) == row["printed"], row
            assert delta == pytest.approx(10 * row["delta"], rel=1e-15)


def test_all_but_one_that_the_paper_prints_for_pate_g() -> None:
    others = []
    for row in PRINTED:
        if row["method"] == "pate-g":
            epsilon, delta = printed_by("pate-g", release(row))
            assert delta == row["delta"]
            if cut(epsilon) != row["printed"]:
                others.append((row["method"], row["dataset"], row["queries"], row["lambda"]))
                assert (row["printed"], cut(epsilon)) == (1967.58, 2000.97)
    assert others == [DATA_DEPENDENT]


AMAZON = LabelRelease(queries=1000, lambda_=0.2, delta=1e-4, classes=10)


@pytest.fixture(scope="module")
def amazon() -> Account:
    return account("privgnn", AMAZON)


def test_an_account_of_privgnn(amazon: Account) -> None:
    assert amazon.printed == pytest.approx(8.538752, abs=1e-6)
    assert amazon.delta_printed == pytest.approx(1e-3)
    assert amazon.label == pytest.approx(3.812266, abs=1e-6)
    assert amazon.label_edge == pytest.approx(1.000019, abs=1e-6)
    assert amazon.vector == pytest.approx(19.131, abs=2e-3)
    assert amazon.query_label == pytest.approx(0.223865, abs=1e-6)
    assert amazon.ceiling == pytest.approx(0.122028, abs=1e-6)


def test_several_releases(amazon: Account) -> None:
    """Fresh samples: one release of all queries. One sample each: losses and deltas add up, which is a bound."""
    twice = account("privgnn", replace(AMAZON, queries=2000))
    assert amazon.central_node(2) == twice.central_node() and amazon.label < twice.label < 2 * amazon.label
    once = account("privgnn", replace(AMAZON, sampling="once", queries=10)).central_node(3)
    single = account("privgnn", replace(AMAZON, sampling="once", queries=10)).central_node()
    assert single.value is not None and single.kind == "exact"
    assert (once.value, once.delta, once.kind) == (pytest.approx(3 * single.value), pytest.approx(3e-4), "bound")
    assert "3 releases, whose losses and deltas add up" in once.detail


def test_an_account_of_pate() -> None:
    asked = LabelRelease(queries=500, lambda_=0.1, delta=4e-4)
    found = account("pate-g", asked)
    assert found.printed == pytest.approx(27.824046, abs=1e-6)
    two_counts = laplace_epsilon(loss=0.1, queries=1000, delta=4e-4)
    assert found.vector == pytest.approx(two_counts, abs=1e-9) and two_counts == pytest.approx(14.5614, abs=1e-3)
    assert found.label == found.label_edge == found.vector < found.printed
    assert (found.query_label, found.ceiling) == (0.2, None)
    third = LabelRelease(queries=5, lambda_=1 / 3, delta=4e-4, classes=3)
    assert account("pate-g", third).query_label == 0.666666667  # upwards
    assert account("privgnn", third).query_label == round_up(label_loss(3, 1 / 3)) > label_loss(3, 1 / 3)
    assert found.central_node().value == found.label
    assert "an upper bound" in found.central_node().detail
    assert account("pate-g", replace(asked, gamma=0.01, sampling="once")).label == found.label


def test_delta_against_the_number_of_people() -> None:
    for nodes in (10_000, 12_300, 10**9):
        with pytest.raises(ValueError, match=r"--set delta=0.0001: must be below 1 / n"):
            replace(AMAZON, nodes=nodes)
    assert "not below 1 / n" in " ".join(account("privgnn", replace(AMAZON, nodes=2500, queries=5)).warnings)
    assert account("privgnn", replace(AMAZON, nodes=500, queries=5)).warnings == ()
    assert any("more than 10,000 people" in line for line in account("privgnn", replace(AMAZON, queries=5)).warnings)
    assert account("pate-g", replace(AMAZON, nodes=2500, queries=5)).warnings == ()


@pytest.mark.parametrize(("change", "said"), [
    ({"queries": 0}, "--set queries=0"),
    ({"queries": 100_001}, "--set queries=100001"),
    *(({"lambda_": value}, "--set lambda_=") for value in (0.0, -1.0, math.nan, math.inf, 101.0)),
    *(({"delta": value}, "--set delta=") for value in (0.0, -1e-5, 1e-10, 0.1, 1.0, math.nan)),
    *(({"classes": value}, "classes ") for value in (1, 0, -3, 100_001)),
    *(({"gamma": value}, "--set gamma=") for value in (0.0, -0.1, 1.01, math.nan)),
    ({"sampling": "twice"}, "--set sampling=twice"),
    ({"sampling": "all"}, "--set sampling=all"),
    ({"nodes": 0}, "nodes 0"),
])  # fmt: skip
def test_mistakes(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said) as error:
        replace(AMAZON, **change)
    assert "\n" not in str(error.value)


def test_figures_that_hold_are_rounded_up(amazon: Account) -> None:
    exact = label_epsilon(queries=1000, classes=10, lambda_=0.2, delta=1e-4, gamma=0.3)
    assert exact <= amazon.label <= exact + 1.1e-9
    assert amazon.query_label == 0.223864563  # 0.2238645624...
    assert amazon.label == round(amazon.label, 9)
