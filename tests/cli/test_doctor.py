"""Checks of an installation and of the machine."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from typer.testing import CliRunner

from ldpsim.cli.doctor import checks
from ldpsim.cli.doctor.checks import Finding
from ldpsim.cli.doctor.command import checked
from ldpsim.cli.main import app

ROOT = Path(__file__).resolve().parents[2]


def test_the_tested_versions_are_those_of_the_checkout() -> None:
    """The file beside the module is a link to constraints.txt; a wheel gets its content."""
    tested = checks.tested_versions()
    assert tested["torch"] and tested["torch-geometric"] and tested["tomli-w"]
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line]
    pins = [Requirement(line) for line in lines]
    assert len(tested) == len({pin.name for pin in pins}) < len(pins)  # newer Pythons have newer versions of some
    (numpy,) = (pin for pin in pins if pin.name == "numpy" and pin.marker and pin.marker.evaluate())
    assert str(numpy.specifier) == f"=={tested['numpy']}"
    assert (ROOT / "cli" / "doctor" / "constraints.txt").resolve() == ROOT / "constraints.txt"


@pytest.mark.parametrize(
    ("line", "status", "says"),
    [
        ("numpy>=1.26", "ok", ""),
        ("numpy<1", "problem", "ldpsim needs <1"),
        ("no-such-package-here>=2", "problem", "not installed"),
    ],
)
def test_a_package_out_of_its_range_or_missing_is_a_problem(line: str, status: str, says: str) -> None:
    (found,) = checks.required_packages([Requirement(line)])
    assert found.status == status and says in found.text
    assert bool(found.remedy) == (status != "ok")


def test_another_version_than_tested_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "tested_versions", lambda: {"numpy": "1.99"})
    (found,) = checks.required_packages([Requirement("numpy>=1.26")])
    assert found.status == "warning" and "tested with 1.99" in found.text and "numpy==1.99" in found.remedy


def test_missing_commands_of_flower_are_a_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert checks.flower_commands().status == "ok"
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    found = checks.flower_commands()
    assert found.status == "problem" and "flower-superlink" in found.text


def test_a_card_that_torch_cannot_use_is_a_warning(tmp_path: Path) -> None:
    driver = tmp_path / "version"
    assert checks.graphics_card(driver, build="2.13.0+cpu").status == "ok"
    driver.write_text("NVRM version")
    assert checks.graphics_card(driver, build="2.13.0").status == "ok"
    found = checks.graphics_card(driver, build="2.13.0+cpu")
    assert found.status == "warning" and "CPU build" in found.text and found.remedy


@pytest.mark.parametrize(
    ("free", "status"), [(checks.ROOM, "ok"), (checks.ROOM - 1, "warning"), (checks.LEAST_ROOM - 1, "problem")]
)
def test_little_room_is_seen(tmp_path: Path, free: int, status: str) -> None:
    found = checks.room("results", tmp_path / "runs", free)
    assert found.status == status and str(tmp_path) in found.text and "not there yet" in found.text


def test_locks_work_here_and_nothing_is_left(tmp_path: Path) -> None:
    found = checks.locks(tmp_path / "state")
    assert found.status in ("ok", "warning") and f"SQLite {sqlite3.sqlite_version}; locks work" in found.text
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_locks_a_slow_one_and_a_network_disk_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as slow:
        slow.setattr(checks, "_fsync_seconds", lambda _: 0.3)
        slow.setattr(checks, "file_system", lambda _: "ext4")
        assert "slow disk" in checks.locks(tmp_path).remedy
        slow.setattr(checks, "file_system", lambda _: "nfs4")
        assert "network disk" in checks.locks(tmp_path).remedy
    monkeypatch.setattr(checks.fcntl, "flock", lambda *_: None)
    found = checks.locks(tmp_path)
    assert found.status == "problem" and "answer twice" in found.remedy


@pytest.mark.parametrize(("limit", "status"), [(1 << 20, "ok"), (1000, "warning"), (200, "problem")])
def test_few_open_files_are_seen(limit: int, status: str) -> None:
    found = checks.open_files(limit)
    assert found.status == status
    assert ("ulimit -n" in found.remedy) == (status != "ok")


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


def test_a_problem_is_exit_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "open_files", lambda: Finding("open files", "3 at most", "problem", "ulimit -n 9"))
    shown = CliRunner().invoke(app, ["doctor"])
    assert shown.exit_code == 1 and "1 problem" in shown.stdout.splitlines()[-1]


def test_a_check_that_fails_is_a_problem_in_one_line() -> None:
    def fails() -> Finding:
        raise OSError("no\nsuch device")

    found = checked("disk", fails)
    assert found.status == "problem" and "no such device" in found.text and found.remedy
