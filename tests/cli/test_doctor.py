"""Checks of an installation and of the machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from typer.testing import CliRunner

from ldpsim.cli.doctor import checks
from ldpsim.cli.doctor.checks import Finding
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
    ("line", "says"), [("numpy<1", "ldpsim needs <1"), ("no-such-package-here>=2", "not installed")]
)
def test_a_package_out_of_its_range_or_missing_is_a_problem(line: str, says: str) -> None:
    (found,) = checks.required_packages([Requirement(line), Requirement("numpy>=1.26")])
    assert found.status == "problem" and says in found.text and found.remedy


def test_another_version_than_tested_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "tested_versions", lambda: {"numpy": "1.99"})
    (found,) = checks.required_packages([Requirement("numpy>=1.26")])
    assert found.status == "warning" and "tested with 1.99" in found.text and "numpy==1.99" in found.remedy


def test_missing_commands_of_flower_are_a_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert checks.flower_commands() is None
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    found = checks.flower_commands()
    assert found is not None and found.status == "problem" and "flower-superlink" in found.text


def test_a_card_that_torch_cannot_use_is_a_warning(tmp_path: Path) -> None:
    driver = tmp_path / "version"
    assert checks.graphics_card(driver, build="2.13.0+cpu") is None
    driver.write_text("NVRM version")
    assert checks.graphics_card(driver, build="2.13.0") is None
    found = checks.graphics_card(driver, build="2.13.0+cpu")
    assert found is not None and found.status == "warning" and "CPU build" in found.text and found.remedy


@pytest.mark.parametrize(
    ("free", "status"), [(checks.ROOM, None), (checks.ROOM - 1, "warning"), (checks.LEAST_ROOM - 1, "problem")]
)
def test_little_room_is_seen(tmp_path: Path, free: int, status: str | None) -> None:
    found = checks.room("results", tmp_path / "runs", free)
    assert (found and found.status) == status
    assert found is None or (str(tmp_path) in found.text and "not there yet" in found.text and found.remedy)


def test_a_file_in_the_place_of_a_folder_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = checks.room("results", tmp_path / "file")
    assert found is not None and (found.status, found.text) == ("problem", f"{tmp_path / 'file'}: is a file")


def test_locks_work_here_and_nothing_is_left(tmp_path: Path) -> None:
    found = checks.locks(tmp_path / "state")
    assert found is None or "locks work" in found.text  # on a slow disk
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_locks_a_slow_one_and_a_network_disk_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as slow:
        for seconds, kind, says in ((0.3, "ext4", "slow disk"), (0.0, "nfs4", "network disk"), (0.0, "ext4", None)):
            slow.setattr(checks, "_fsync_seconds", lambda _, seconds=seconds: seconds)
            slow.setattr(checks, "file_system", lambda _, kind=kind: kind)
            found = checks.locks(tmp_path)
            assert found is None if says is None else found is not None and says in found.remedy
    monkeypatch.setattr("fcntl.flock", lambda *_: None)
    found = checks.locks(tmp_path)
    assert found is not None and found.status == "problem" and "answer twice" in found.remedy


@pytest.mark.parametrize(("limit", "status"), [(1 << 20, None), (1000, "warning"), (200, "problem")])
def test_few_open_files_are_seen(limit: int, status: str | None) -> None:
    found = checks.open_files(limit)
    assert (found and found.status) == status
    assert found is None or "ulimit -n" in found.remedy


@pytest.fixture
def all_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no check find anything, whatever this machine is."""
    monkeypatch.setattr(checks, "required_packages", list)
    for name in ("ldpsim_itself", "python", "flower_commands", "graphics_card", "open_files"):
        monkeypatch.setattr(checks, name, lambda: None)
    monkeypatch.setattr(checks, "room", lambda name, path: None)
    monkeypatch.setattr(checks, "locks", lambda state: None)


@pytest.mark.usefixtures("all_well")
def test_where_all_is_well_there_is_one_line() -> None:
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["doctor"])
    assert shown.exit_code == 0 and len(shown.stdout.splitlines()) == 1 and "no problem" in shown.stdout
    assert json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout) == {"findings": []}


@pytest.mark.usefixtures("all_well")
def test_a_problem_is_exit_1_and_a_warning_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for status, code in (("problem", 1), ("warning", 0)):
        finding = Finding("open files", "3 at most", status, "ulimit -n 9")  # type: ignore[arg-type]
        monkeypatch.setattr(checks, "open_files", lambda finding=finding: finding)
        shown = CliRunner().invoke(app, ["doctor"])
        assert shown.exit_code == code
        assert shown.stdout.splitlines() == [f"{status:7} open files: 3 at most", "        -> ulimit -n 9"]
        found = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)
        assert found == {"findings": [{"name": "open files", "text": "3 at most", "status": status,
                                       "remedy": "ulimit -n 9"}]}  # fmt: skip


def test_every_check_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fails(*_: object) -> None:
        raise OSError("no\nsuch device")

    for name in ("ldpsim_itself", "python", "flower_commands", "graphics_card", "room", "locks", "open_files"):
        monkeypatch.setattr(checks, name, fails)
    shown = CliRunner().invoke(app, ["doctor", "--json", "--out", str(tmp_path), "--state", str(tmp_path / "state")])
    found = {each["name"]: each["text"] for each in json.loads(shown.stdout)["findings"]}
    names = {"ldpsim", "python", "flower runtime", "gpu", "results", "devices", "ledger", "open files"}
    assert shown.exit_code == 1 and names <= found.keys()
    assert {found[name] for name in names} == {"this check failed: no such device"}
    assert list(tmp_path.iterdir()) == []
