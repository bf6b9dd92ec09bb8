"""A new level of guarantee is one entry of LEVELS: it is found in every place that names levels."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldpsim.cli import audit as audit_command
from ldpsim.cli.audit import loss_table
from ldpsim.cli.output import console
from ldpsim.cli.report.gather import gather
from ldpsim.cli.report.page import render
from ldpsim.cli.summary import summary
from ldpsim.curator.attacks.mechanism_audit import Effort
from ldpsim.curator.attacks.method_audit import audit_method
from ldpsim.curator.methods.local.hogs import HoGS
from ldpsim.curator.privacy.levels import LEVELS, LevelSpec
from ldpsim.devices.noise import NoiseStream
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.outputs.groups import groups_of
from ldpsim.strategies.results.in_words import held, level_named, shown_levels
from ldpsim.strategies.results.rows import row_of

LIST = LevelSpec(
    "adjacency", "whole", "the whole neighbour list of a person changes",
    "the whole list", "all entries", "list", 3,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _new_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LEVELS, "list", LIST)


def test_a_run_and_everything_that_shows_it(tmp_path: Path) -> None:
    clients = 60
    options = RunOptions(
        method="hogs", clients=clients, settings={"epochs": 2}, reference=False, nulls=False, out=tmp_path
    )
    result = simulate(options)
    record = result.record
    entry = record["privacy"]["holds"]["list"]
    assert entry["value"] == pytest.approx((clients - 1) * 7.2, abs=1e-6) and entry["status"] == "bounded"
    assert record["privacy"]["lifetime_per_device"]["list"]["max"] == entry["value"]
    row = row_of(record, "a")
    assert row["holds_list"] == entry["value"]
    assert list(row).index("holds_list") == list(row).index("holds_central_node_of_one") + 1
    screen = console()
    with screen.capture() as capture:
        screen.print(summary(record, folder=None))
    assert "the whole list: all entries" in capture.get()
    assert held(record["privacy"]["holds"], level_named("LIST"))["value"] == entry["value"]
    assert groups_of([record])[0].row["holds_list"] == entry["value"]
    assert "the whole neighbour list of a person changes" in render(gather([tmp_path]))


def test_narrow_tables_take_the_first_ranks() -> None:
    assert list(shown_levels(2)) == ["relationship", "user"]
    assert list(shown_levels())[-1] == "list"


def test_the_audit_of_a_method() -> None:
    rows = audit_method(HoGS, Effort(trials=400, rows=50), stream=NoiseStream)
    (row,) = [row for row in rows if row.level == "list"]
    assert row.passed and row.claimed == pytest.approx(row.exact, abs=1e-6)
    assert row.claimed == 3 * next(row.claimed for row in rows if row.level == "bit_adjacency")  # type: ignore[operator]
    screen = console()
    with screen.capture() as capture:
        screen.print(audit_command.view(loss_table(rows, trials=400, confidence=0.99)))
    assert "the whole list" in capture.get()
