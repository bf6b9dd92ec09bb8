"""``ldpsim poison``: what is printed at 80 and at 40 columns, JSON, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli import poison as command
from cli.main import app
from cli.options import numbers
from cli.poison import show
from strategies.attacks.campaign import CampaignResult

SMALL = ["poison", "hogs", "--clients", "60", "--shares", "0,0.2", "--workers", "1", "--no-nulls", "--set", "epochs=3",
         "--attack", "fakes", "--lie", "response"]  # fmt: skip


def row(attack: str, **given: object) -> dict:
    return {"method": "hogs", "epsilon": 8.0, "attack": attack, "lie": "", "goal": "untargeted", "share": 0.2,
            "defence": "none", "repeats": 1, "measured": None, "theory": None, "bound": None, "accuracy": 0.8,
            "std": 0.01, "vs_silent": None, "goal_value": 0.8, "goal_clean": 0.8,
            "fakes_accepted": None, "found": None, "false_alarms": None, "passed": None, "failed_laws": [],
            "nulls": {}, **given}  # fmt: skip


def result(*rows: dict) -> CampaignResult:
    return CampaignResult(list(rows), {"dataset": "cora"}, [], 12.0)


def test_a_small_measurement(tmp_path: Path) -> None:
    found = CliRunner().invoke(app, [*SMALL, "--out", str(tmp_path), "--json"])
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert [entry["attack"] for entry in document["rows"]] == ["none", "silent", "fakes"]
    assert set(document["rows"][0]) >= {"method", "attack", "goal", "share", "defence", "accuracy", "target_success",
                                        "bound", "honest_rejected"}  # fmt: skip
    assert document["passed"] and Path(document["folder"], "poison.png").is_file()


def test_the_table_at_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        row("none", share=0.0, nulls={"chance": 0.3}), row("silent"),
        row("fakes", lie="response", vs_silent=-0.07, fakes_accepted=12.25, passed=True),
        row("fakes", lie="response", vs_silent=-0.01, defence="both-ends", found=0.5, false_alarms=0.001, passed=True),
        row("one-label", lie="input", goal="inflate", goal_value=0.4, goal_clean=0.2, vs_silent=0.0),
    ]  # fmt: skip
    show(result(*rows), Path("runs/poison-cora"))
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("hogs eps 8") and "null models: chance 30.0" in lines[0]
    assert "nobody lies" in text and "+ both-ends" in text and "40.0 (20.0)" in text and "12.2" in text
    assert "hogs eps 8 fakes response: costs at least 5 points more than silence if 20 %" in text
    assert "as theory says" in text


def test_the_table_at_40_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    monkeypatch.setattr(command, "console", lambda: Console(width=40, highlight=False))
    show(result(row("none", share=0.0), row("fakes", lie="response", vs_silent=-0.01)), Path("runs/x"))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines()[:4])) <= 40 and "80.0 ± 1.0" in out and "response" in out


def test_a_row_against_theory_is_exit_1(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wrong = row("fakes", lie="input", passed=False, failed_laws=["grr shift"])
    from strategies.attacks.poison.campaign import PoisonCampaign

    (tmp_path / "poison.png").write_bytes(b"a picture")
    monkeypatch.setattr(PoisonCampaign, "run_and_write", lambda *_, **__: (result(wrong), tmp_path))
    found = CliRunner().invoke(app, [*SMALL, "--out", str(tmp_path)])
    assert found.exit_code == 1
    assert "hogs under fakes at 0.2: grr shift is not what theory says" in found.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        (["--attack", "fake"], "did you mean fakes"),
        (["--shares", "0,x"], "--shares 0,x: numbers joined by commas are needed"),
        (["--shares", "1.5"], "--shares 1.5: a share of all people"),
        (["--attack", "one-label"], "fits no report of hogs"),
        (["--epsilon", "a"], "--epsilon a: numbers joined by commas"),
        (["--inject", "x"], "--inject x: numbers joined by commas are needed"),
        (["--inject", "-1"], "--inject -1: a share of the honest people"),
        (["--inject", "1e30"], "--inject 1e+30: a share of the honest people"),
        (["--inject", "100000"], "--inject 100000: at most as many accounts as honest people, of whom there are 60"),
        (["--inject", "5", "--shares", "0.1"], "--shares and --inject: people who lie and accounts that join"),
    ],
)
def test_mistakes(wrong: list[str], line: str, tmp_path: Path) -> None:
    found = CliRunner().invoke(app, ["poison", "hogs", "--clients", "60", *wrong, "--out", str(tmp_path / "runs")])
    assert found.exit_code == 2 and line in " ".join(found.stderr.split())
    assert not list(tmp_path.glob("runs/*/result.json"))


@pytest.mark.parametrize("width", [40, 80])
def test_the_table_of_accounts(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    monkeypatch.setattr(command, "console", lambda: Console(width=width, highlight=False))
    rows = [row("none", share=0.0), row("silent", accounts=135, share=135 / 2708),
            row("join-random", lie="response", goal="misclassify", goal_value=0.4, goal_clean=0.2, vs_silent=-0.07,
                fakes_accepted=112.25, passed=True, accounts=135, share=135 / 2708, per_point=1934.2)]  # fmt: skip
    show(result(*rows), Path("runs/x"))
    out = capsys.readouterr().out
    # the last line is a path
    assert max(map(len, out.splitlines()[:-1])) <= width and "4.99 %" in out and ("1,934" in out) == (width == 80)
    assert "costs at least 5 points more than silence if the accounts are 4.99 % of" in " ".join(out.split())


def test_fake_accounts_join(tmp_path: Path) -> None:
    given = ["poison", "hogs", "--clients", "60", "--inject", "6", "--workers", "1", "--no-nulls", "--set", "epochs=3",
             "--attack", "join-flood", "--lie", "response", "--out", str(tmp_path)]  # fmt: skip
    found = CliRunner().invoke(app, [*given, "--json"])
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert [(row["attack"], row["accounts"]) for row in document["rows"]] == [("none", 0), ("silent", 6),
                                                                             ("join-flood", 6)]  # fmt: skip
    assert document["rows"][2]["one_hop_per_point"] > 0 and document["settings"]["inject"] == [6.0]
    assert (Path(document["folder"]) / "poison.html").is_file()


def test_help_lists_the_attacks() -> None:
    found = CliRunner().invoke(app, ["poison", "hogs", "--attack", "help"])
    assert found.exit_code == 0 and "mimic" in found.stdout and "silent" in found.stdout


def test_numbers() -> None:
    assert numbers("--shares", "0,0.05,0.2") == (0.0, 0.05, 0.2)
