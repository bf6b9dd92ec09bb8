"""``ldpsim poison``: what is printed at 80 and at 40 columns, JSON, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ldpsim.cli import poison as command
from ldpsim.cli.main import app
from ldpsim.cli.poison import show
from ldpsim.strategies.attacks.campaign import CampaignResult

SMALL = ["poison", "hogs", "--clients", "60", "--shares", "0,0.2", "--workers", "1", "--no-nulls", "--set", "epochs=3",
         "--attack", "largest-degree"]  # fmt: skip


def row(attack: str, **given: object) -> dict:
    return {"method": "hogs", "epsilon": 8.0, "attack": attack, "share": 0.2, "liars": 12, "defence": "none",
            "repeats": 1, "accuracy": 0.8, "std": 0.01, "vs_silent": None, "chosen": 0.25,
            "found": None, "false_alarms": None, "nulls": {}, **given}  # fmt: skip


@pytest.mark.parametrize("more", [[], ["--join"]])
def test_a_small_measurement(more: list[str], tmp_path: Path) -> None:
    found = CliRunner().invoke(app, [*SMALL, *more, "--out", str(tmp_path), "--json"])
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


def test_help_lists_the_attacks() -> None:
    found = CliRunner().invoke(app, ["poison", "hogs", "--attack", "help"])
    assert found.exit_code == 0 and "largest-degree" in found.stdout and "pairs" in found.stdout
