from __future__ import annotations

import re

import pytest

from benchmarks import ROOT
from benchmarks.papers.cell import loss_of
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


def test_no_other_module_rounds_a_loss_to_the_nearest() -> None:
    """A claim or a level that is written with :g or :.4f may be smaller than it is."""
    named = r"(claimed|holds|compared_loss\(\w+\)|\.loss\(\)\.\w+|total|vector|eps_a)"
    told = re.compile(rf"\{{[^{{}}]*{named}[\])'\"]*:[.,0-9]*[fg]\}}")
    packages = ("curator", "strategies", "cli", "benchmarks/audits")
    files = [path for package in packages for path in (ROOT / package).rglob("*.py")]
    lines = [line.strip() for path in files for line in path.read_text().splitlines() if told.search(line)]
    assert [line for line in lines if "raise ValueError" not in line] == []  # what somebody gave, not what is lost
