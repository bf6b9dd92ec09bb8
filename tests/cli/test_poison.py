"""``ldpsim poison``: its first screen, its table and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ldpsim.cli import poison as command
from ldpsim.cli.main import app
from ldpsim.cli.poison import show
from ldpsim.cli.screen import Screen
from ldpsim.strategies.attacks.campaign import CampaignResult
from ldpsim.strategies.attacks.poison.summary import damage_text, damages

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


ROWS = [
    row("none", share=0.0, liars=0, accuracy=0.84, nulls={"chance": 0.3}), row("none", share=0.0, defence="both-ends"),
    row("silent", accuracy=0.83), row("random", accuracy=0.82, vs_silent=-0.01, chosen=0.6),
    row("largest-degree", accuracy=0.76, vs_silent=-0.07),
    row("random", accuracy=0.835, vs_silent=0.005, defence="both-ends", found=0.5, false_alarms=0.001),
    row("largest-degree", accuracy=0.82, vs_silent=-0.01, defence="both-ends", found=0.5, false_alarms=0.001),
]  # fmt: skip


def printed(rows: list[dict], width: int, monkeypatch: pytest.MonkeyPatch, capsys: Any, **more: bool) -> list[str]:
    monkeypatch.setattr(command, "console", lambda: Screen(width=width, highlight=False))
    show(CampaignResult(rows, {"dataset": "cora"}, [], 12.0, {}, Path("runs/x")), **more)
    return list(capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("width", [40, 80])
def test_the_first_screen(width: int, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    lines = printed(ROWS, width, monkeypatch, capsys)
    assert max(map(len, lines[:-1])) <= width and (width < 80 or len(lines) <= 20)
    text = " ".join(" ".join(lines).split())
    assert "At worst 12 liars (20 %) cost hogs 8.0 points of accuracy: 84.0 to 76.0 % (largest-degree)." in text
    assert "Of 20 chosen people, 60 % get the liars' class in hogs (25 % if nobody lies)." in text
    assert "The best defence, both-ends, gives back 6.0 points." in text
    rows = [" ".join(line.split()) for line in lines if "±" in line]
    assert "20 % largest-degree 76.0 ± 1.0 8.0 1.0 60 both-ends 82.0" in rows or width == 40
    assert lines[-1] == "Written to runs/x/table.csv, with all attacks (here: --details)"


def test_a_loss_that_rounds_to_nothing_has_no_sign(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    rows = [row("none", share=0.0, liars=0), row("pairs", accuracy=0.8002, vs_silent=-0.0002)]
    (shown,) = [line.split() for line in printed(rows, 80, monkeypatch, capsys) if "pairs" in line and "±" in line]
    assert shown[-3:] == ["0.0", "0.0", "25"]


def test_all_attacks_and_null_models_with_details(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    lines = printed(ROWS, 80, monkeypatch, capsys, details=True)
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    assert "simpler models largest class 30.0" in text and "nobody lies" in text and text.count("+ both-ends") == 3


def test_ten_rows_and_how_many_more(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    rows = [{**each, "method": f"m{number}"} for number in range(6) for each in (ROWS[0], ROWS[3])]
    lines = printed(rows, 80, monkeypatch, capsys)
    assert len(lines) <= 20 and "… 2 more (--details)" in lines and "No defence was run" in " ".join(lines)
    assert not any("m5" in line for line in lines)


def test_lies_that_cost_nothing_and_a_defence_that_gives_nothing_back() -> None:
    rows = [row("none", share=0.0, liars=0, chosen=None), row("pairs", accuracy=0.81, chosen=None),
            row("pairs", accuracy=0.80, defence="degree", chosen=None)]  # fmt: skip
    assert damage_text(damages(rows)) == (
        "At worst 12 liars (20 %) cost no accuracy: 80.0 to 81.0 % (pairs). No defence gives anything back."
    )
    assert damage_text(damages(rows[1:])) == "No attack has a result."  # the cell without liars failed
