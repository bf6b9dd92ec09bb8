from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ldpsim.cli.doctor import checks
from ldpsim.cli.doctor.checks import Finding
from ldpsim.cli.doctor.command import checked
from ldpsim.cli.main import app


def test_every_subject_has_its_line(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["doctor", "--json", "--out", str(tmp_path), "--state", str(tmp_path / "state")])
    assert shown.exit_code == 0, shown.output
    report = json.loads(shown.stdout)
    names = [check["name"] for check in report["checks"]]
    assert len(set(names)) == len(names)
    wanted = "ldpsim python torch torch-geometric flwr ray numpy gpu results devices ledger"
    assert {*wanted.split(), "flower runtime", "open files"} <= set(names)
    for check in report["checks"]:
        assert set(check) == {"name", "text", "status", "remedy"}
        assert check["text"] and bool(check["remedy"]) == (check["status"] != "ok")
    assert list(tmp_path.iterdir()) == []


def test_lines_fit_80_columns_and_remedies_stand_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "graphics_card", lambda: Finding("gpu", "a card", "warning", "a remedy"))
    shown = CliRunner().invoke(app, ["doctor"])
    lines = shown.stdout.splitlines()
    assert shown.exit_code == 0 and all(len(line) <= 80 for line in lines)
    assert "-> a remedy" in lines[lines.index("warning gpu: a card") + 1]
    assert "warning" in lines[-1] and "checks" in lines[-1]


def test_a_problem_is_exit_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "open_files", lambda: Finding("open files", "3 at most", "problem", "ulimit -n 9"))
    shown = CliRunner().invoke(app, ["doctor"])
    assert shown.exit_code == 1 and "1 problem" in shown.stdout.splitlines()[-1]


def test_a_check_that_fails_is_a_problem_in_one_line() -> None:
    def fails() -> Finding:
        raise OSError("no\nsuch device")

    found = checked("disk", fails)
    assert found.status == "problem" and "no such device" in found.text and found.remedy
