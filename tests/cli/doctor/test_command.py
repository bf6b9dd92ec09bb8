from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from ldpsim.cli.doctor import command, machine
from ldpsim.cli.doctor.finding import Finding
from ldpsim.cli.main import app


def test_every_subject_has_its_line(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["doctor", "--json", "--out", str(tmp_path), "--state", str(tmp_path / "state")])
    assert shown.exit_code == 0, shown.output
    report = json.loads(shown.stdout)
    names = [check["name"] for check in report["checks"]]
    assert len(set(names)) == len(names)
    wanted = (
        "ldpsim python torch torch-geometric flwr ray numpy telemetry data gpu results devices ledger locale terminal"
    )
    assert {*wanted.split(), "flower runtime", "open files"} <= set(names)
    for check in report["checks"]:
        assert set(check) == {"name", "text", "status", "remedy"}
        assert check["text"] and bool(check["remedy"]) == (check["status"] != "ok")
    assert list(tmp_path.iterdir()) == []


def test_lines_fit_80_columns_and_remedies_stand_below(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["doctor", "--data-dir", str(tmp_path / "none")])
    lines = shown.stdout.splitlines()
    assert shown.exit_code == 0 and all(len(line) <= 80 for line in lines)
    (data,) = (k for k, line in enumerate(lines) if line.startswith("warning data"))
    assert any("-> " in line for line in lines[data : data + 4])
    assert "warning" in lines[-1] and "checks" in lines[-1]


def test_packages_that_few_look_for_share_a_line_unless_they_differ() -> None:
    fine = [
        Finding("rich", "14.0"),
        Finding("torch", "2.13.0"),
        Finding("scipy", "1.17"),
        Finding("others", "9 as tested"),
    ]
    assert [finding.name for finding in command.shortened(fine)] == ["torch", "required", "others"]
    assert command.shortened(fine)[1].text == "2 more packages as tested"
    differing = [Finding("rich", "13.0", "warning", "install it"), *fine[1:]]
    assert [finding.name for finding in command.shortened(differing)] == ["rich", "torch", "required", "others"]


def test_a_narrow_terminal_has_no_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "console", lambda: Console(width=40, highlight=False))
    command.show([Finding("data", "no data set in a folder with a long name", "warning", "name another folder")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("warning data: no data set") and all(len(line) <= 40 for line in lines)
    assert "-> name another folder" in lines and lines[-1] == "1 warning in 1 checks"


def test_a_problem_is_exit_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "open_files", lambda: Finding("open files", "3 at most", "problem", "ulimit -n 9"))
    shown = CliRunner().invoke(app, ["doctor"])
    assert shown.exit_code == 1 and "1 problem" in shown.stdout.splitlines()[-1]


def test_start_adds_its_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_started", lambda: iter([Finding("ray started", "one task")]))
    assert "ray started" not in CliRunner().invoke(app, ["doctor"]).stdout
    assert "ray started" in CliRunner().invoke(app, ["doctor", "--start"]).stdout


def test_torch_ray_and_flower_are_not_imported() -> None:
    """The command without --start is fast because of this."""
    code = (
        "import sys; from typer.testing import CliRunner; from ldpsim.cli.main import app; "
        "assert CliRunner().invoke(app, ['doctor']).exit_code == 0; "
        "print([name for name in ('torch', 'ray', 'flwr', 'matplotlib') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
