"""``ldpsim stress`` and ``ldpsim poison``: what is printed, JSON, and mistakes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ldpsim.cli import poison as command
from ldpsim.cli.main import app
from ldpsim.cli.output import console
from ldpsim.cli.poison import show
from ldpsim.cli.stress import view
from ldpsim.strategies.attacks.campaign import CampaignResult
from ldpsim.strategies.attacks.stress import campaign
from ldpsim.strategies.attacks.stress.campaign import StressOptions, stress

runner = CliRunner()
SMALL = ["stress", "--clients", "40", "--asks", "1,5", "--adversary", "new-run", "--workers", "1"]


def test_a_table_of_80_columns(tmp_path: Path) -> None:
    found = runner.invoke(app, [*SMALL, "--out", str(tmp_path)])
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "Every row is as theory says" in found.stdout
    (nobody,) = [line for line in lines if line.startswith("nobody asked")]
    assert re.fullmatch(r"nobody asked +one guess for all +0( +[\d.]+ %){3} +- +0 *", nobody)
    assert [line.split()[0] for line in lines if "new-run" in line] == ["none", "context-state", "refuse", "replay"]
    (folder,) = tmp_path.iterdir()
    assert (folder / "result.json").is_file()


def test_json_has_what_the_contract_names(tmp_path: Path) -> None:
    found = runner.invoke(app, [*SMALL, "--protection", "refuse", "--json", "--out", str(tmp_path)])
    document = json.loads(found.stdout)
    assert document["passed"] is True and len(document["rows"]) == 6
    assert {"adversary", "fault", "protection", "covered", "attribute", "asks", "recovered", "one_query_bound",
            "theory", "distinct_releases"} <= set(document["rows"][0])  # fmt: skip


def test_a_row_that_is_wrong_is_marked() -> None:
    found = stress(StressOptions(clients=40, asks=(1,), adversaries=("repeat",), protections=("refuse",)))
    result = replace(found, rows=[{**found.rows[0], "passed": False}, *found.rows[1:]])
    screen = console()
    with screen.capture() as printed:
        screen.print(view(result))
    assert "NOT as theory says" in printed.get() and "%!" in printed.get()


def test_a_comparison_that_fails_is_told_beside_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = campaign.measure_case
    monkeypatch.setattr(campaign, "measure_case", lambda case: 1 / 0 if case.protection == "refuse" else measure(case))
    found = runner.invoke(app, [*SMALL, "--protection", "none", "--protection", "refuse", "--out", str(tmp_path)])
    assert found.exit_code == 1, found.output
    assert "refuse new-run failed: ZeroDivisionError: division by zero" in " ".join(found.stdout.split())
    assert "cells failed; " in found.stderr and "none new-run failed" not in found.stdout
    assert "result.json" not in found.stdout
    (folder,) = tmp_path.iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["cells", "table.csv"]


POISON = ["poison", "hogs", "--clients", "60", "--shares", "0,0.2", "--workers", "1", "--no-nulls", "--set", "epochs=3",
         "--attack", "largest-degree"]  # fmt: skip


def row(attack: str, **given: object) -> dict:
    return {"method": "hogs", "epsilon": 8.0, "attack": attack, "share": 0.2, "liars": 12, "defence": "none",
            "repeats": 1, "accuracy": 0.8, "std": 0.01, "vs_silent": None, "chosen": 0.25,
            "found": None, "false_alarms": None, "nulls": {}, **given}  # fmt: skip


@pytest.mark.parametrize("more", [[], ["--join"]])
def test_a_small_measurement(more: list[str], tmp_path: Path) -> None:
    found = CliRunner().invoke(app, [*POISON, *more, "--out", str(tmp_path), "--json"])
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert [(entry["attack"], entry["liars"]) for entry in document["rows"]] == [
        ("none", 0), ("silent", 12), ("largest-degree", 12),
    ]  # fmt: skip
    assert Path(document["folder"], "table.csv").is_file() and document["settings"]["join"] == ("--join" in more)


@pytest.mark.parametrize("width", [40, 80])
def test_the_table(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    monkeypatch.setattr(command, "console", lambda: Console(width=width, highlight=False))
    rows = [
        row("none", share=0.0, nulls={"chance": 0.3}), row("silent"), row("largest-degree", vs_silent=-0.07),
        row("largest-degree", vs_silent=-0.01, defence="both-ends", found=0.5, false_alarms=0.001),
    ]  # fmt: skip
    show(CampaignResult(rows, {"dataset": "cora"}, [], 12.0, {}, Path("runs/x")))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines()[:-1])) <= width and "80.0 ± 1.0" in out and "+ both-ends" in out
    assert "null models chance 30.0" in out and "nobody lies" in out and ("-7.0" in out) == (width == 80)
