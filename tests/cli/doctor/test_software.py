from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from ldpsim.cli.doctor import software

ROOT = Path(__file__).resolve().parents[3]


def test_the_tested_versions_are_those_of_the_checkout() -> None:
    """The file beside the module is a link to constraints.txt; a wheel gets its content."""
    tested = software.tested_versions()
    assert tested["torch"] and tested["torch-geometric"] and tested["tomli-w"]
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line]
    assert len(tested) == len(lines)
    assert (ROOT / "cli" / "doctor" / "constraints.txt").resolve() == ROOT / "constraints.txt"


def test_every_requirement_gets_a_line_and_holds_here() -> None:
    found = {finding.name: finding.status for finding in software.required_packages()}
    assert {"torch", "flwr", "ray", "numpy", "torch-geometric"} <= set(found)
    assert "problem" not in found.values()


@pytest.mark.parametrize(
    ("line", "status", "says"),
    [
        ("numpy>=1.26", "ok", ""),
        ("numpy<1", "problem", "ldpsim needs <1"),
        ("no-such-package-here>=2", "problem", "not installed"),
    ],
)
def test_a_package_out_of_its_range_or_missing_is_a_problem(line: str, status: str, says: str) -> None:
    (found,) = software.required_packages([Requirement(line)])
    assert found.status == status and says in found.text
    assert bool(found.remedy) == (status != "ok")


def test_another_version_than_tested_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(software, "tested_versions", lambda: {"numpy": "1.99"})
    (found,) = software.required_packages([Requirement("numpy>=1.26")])
    assert found.status == "warning" and "tested with 1.99" in found.text and "numpy==1.99" in found.remedy


def test_another_build_of_a_release_is_that_release() -> None:
    assert software.same_release("2.13.0+cpu", "2.13.0") and not software.same_release("2.13.1", "2.13.0")


def test_other_packages_that_differ_are_named() -> None:
    tested = software.tested_versions()
    same = {"attrs": tested["attrs"], "idna": tested["idna"], "yarl": None}
    assert software.other_packages(same).text == "2 packages as tested"
    differing = software.other_packages({**same, "idna": "1.0"})
    assert differing.status == "ok" and f"idna 1.0 (tested {tested['idna']})" in differing.text


def test_an_old_python_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    assert software.python().status == "ok"
    monkeypatch.setattr(sys, "version_info", (3, 10, 14))
    found = software.python()
    assert found.status == "problem" and "3.11 or newer" in found.remedy


def test_missing_commands_of_flower_are_a_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert software.flower_commands().status == "ok"
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    found = software.flower_commands()
    assert found.status == "problem" and "flower-superlink" in found.text


def test_telemetry_is_off_and_a_change_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLWR_TELEMETRY_ENABLED", "0")
    assert software.telemetry().status == "ok"
    monkeypatch.setitem(os.environ, "FLWR_TELEMETRY_ENABLED", "1")
    found = software.telemetry()
    assert found.status == "problem" and "FLWR_TELEMETRY_ENABLED" in found.text
