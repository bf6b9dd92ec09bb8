from __future__ import annotations

import re

import pytest

from benchmarks import RESULTS, ROOT
from benchmarks.papers.cell import loss_of
from benchmarks.study import read_rows
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.curator.shown import loss_in_table, shown_bound, shown_loss

LOSSES = (1e-8, 0.04996, 0.25948, 1.1, 1.339761, 2.0, 5.528685, 9.99991, 9.999999, 10.0, 10.72, 14.400001, 195.353,
          999.91, 2193.6, 19_762.1, 1.2e9)  # fmt: skip


@pytest.mark.parametrize("value", LOSSES)
def test_a_loss_is_never_rounded_down_and_a_bound_from_below_never_up(value: float) -> None:
    """Every formatter of a loss is this one: tables of papers had 1.976e+04 for 19,762.1, and a page 1.3 for 1.34."""
    up = float(shown_loss(value).replace(",", ""))
    assert value * (1 - 1e-9) <= up + 5e-9 <= value + 1.01e-4
    assert float(loss_in_table(value)) == up and "," not in loss_in_table(value)
    assert value - 1.01e-4 <= float(shown_bound(value).replace(",", "")) <= value * (1 + 1e-9) + 1e-8
    assert float(loss_of({"status": "bounded", "value": value, "delta": 0.0})) == up


def test_infinity_is_a_word() -> None:
    assert shown_loss(float("inf")) == "inf"


def test_no_other_module_rounds_a_loss_to_the_nearest() -> None:
    """A claim or a level that is written with :g or :.4f may be smaller than it is."""
    named = r"(claimed|holds|compared_loss\(\w+\)|\.loss\(\)\.\w+|total|vector|eps_a)"
    told = re.compile(rf"\{{[^{{}}]*{named}[\])'\"]*:[.,0-9]*[fg]\}}")
    packages = ("curator", "strategies", "cli", "benchmarks/audits")
    files = [path for package in packages for path in (ROOT / package).rglob("*.py")]
    lines = [line.strip() for path in files for line in path.read_text().splitlines() if told.search(line)]
    assert [line for line in lines if "raise ValueError" not in line] == []  # what somebody gave, not what is lost


@pytest.mark.parametrize("paper", ["solitude", "hogs", "blink", "rgnn"])
def test_no_stored_loss_is_a_power_of_ten(paper: str) -> None:
    found = {
        value for row in read_rows(RESULTS / f"{paper}.csv") for name, value in row.items() if name[:6] == "holds_"
    }
    assert not [value for value in found if "e" in value and value[0].isdigit()]


def test_the_loss_of_a_solitude_row_is_the_sum_of_its_parts() -> None:
    nodes = {"cora": 2708, "citeseer": 3327, "citeseer-lcc": 2110}
    for row in read_rows(RESULTS / "solitude.csv"):
        if row["ours"] and row["holds_user"] != "unprotected":
            exact = (nodes[row["data set"]] - 1) * float(row["eps_a"]) + 1
            assert exact - 1e-6 <= float(row["holds_user"]) < exact + 1e-4


def test_levels_have_names_of_their_own() -> None:
    """ "A bit" was an entry of a list in tables, and a feature in sentences."""
    terms = [spec.term for spec in LEVELS.values()]
    assert len(set(terms)) == len(terms) and "a bit" not in terms
