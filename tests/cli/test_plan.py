"""Plans from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.curator.privacy.level import Level


def ldpsim(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["plan", *map(str, arguments)])


def planned(*arguments: object, out: Path) -> dict:  # type: ignore[type-arg]
    shown = ldpsim(*arguments, "--json", "--out", out)
    assert shown.exit_code == 0, shown.output
    return json.loads(shown.stdout)  # type: ignore[no-any-return]


def test_a_plan_depends_on_facts_alone_and_nobody_is_enrolled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("ldpsim.devices.enrolment.state.enrol", "ldpsim.strategies.runs.set_up.enrol"):
        monkeypatch.setattr(place, lambda *_, **__: pytest.fail("somebody was enrolled"))
    asked = ("hogs", "lpgnn", "vote", "--clients", "1e8", "--level", "user", "--holds", "4")
    first, second = (planned(*asked, "--population-seed", seed, out=tmp_path) for seed in (1, 2))
    for each in (*first["rows"], *second["rows"]):
        del each["command"]
    assert first["rows"] == second["rows"] and first["facts"]["n"] == 10**8
    rows = {row["method"]: row for row in first["rows"]}
    assert rows["hogs"]["fits"] is False and rows["vote"]["settings"]["epsilon"] == pytest.approx(4)
    assert any("a device reads" in why for why in rows["vote"]["why"])
    assert not list(tmp_path.rglob("ledger*"))


def test_the_document_has_what_scripts_rely_on(tmp_path: Path) -> None:
    found = planned("hogs", "--clients", "2000", "--mean-degree", "9", "--number-of-features", "50", out=tmp_path)
    assert {"facts", "rows", "choice", "why"} <= set(found)
    assert found["facts"]["mean_degree"] == 9 and found["facts"]["features"] == 50
    (row,) = found["rows"]
    assert {"method", "settings", "holds", "bytes_per_device", "memory_bytes", "fits"} <= set(row) and row["fits"]
    assert row["holds"]["relationship"] == Level("bounded", 14.4, kind="exact").to_dict()
    assert found["choice"]["method"] == "hogs"


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_table_fits_the_terminal(width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpsim.cli.plan.console", lambda: Console(width=width, color_system=None))
    shown = ldpsim("hogs", "vote", "fp-solitude", "pate-m", "--clients", "50000", "--level", "relationship",
                   "--holds", "4", "--out", tmp_path)  # fmt: skip
    assert shown.exit_code == 0 and "fp-solitude" in shown.stdout
    table = shown.stdout.partition("Its worth is not measured")[0]
    assert max(map(len, table.splitlines())) <= width and "…" not in table
    said = " ".join(shown.stdout.split())
    assert 0 < said.find("Not protected by the choice:") < said.find("Choice: ")  # first what it does not protect
    assert "Rehearse it on people like yours: ldpsim run --method" in said
    assert {path.name for path in tmp_path.rglob("plan*/*")} >= {"plan.html", "plan.json"}
