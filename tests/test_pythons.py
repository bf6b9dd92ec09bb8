"""Which Pythons ``make test-pythons`` finds, and what it runs on them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import pythons

OWN = sys.version_info.minor


def python(path: Path, said: str, code: int = 0) -> Path:
    """Make a program that answers as a Python of a minor version does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {said}\nexit {code}\n")
    path.chmod(0o755)
    return path


def test_each_version_from_3_11_on_is_found_once_and_what_does_not_start_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = python(tmp_path / "path" / "python3.12", "12")
    python(tmp_path / "path" / "python3.10", "10")
    python(tmp_path / "path" / "python3.13", "pyenv: python3.13: command not found", 127)
    python(tmp_path / "path" / "python3.15", "0")  # no release yet
    python(tmp_path / "path" / "python3.12-config", "12")
    python(tmp_path / "pyenv" / "versions" / "3.12.1" / "bin" / "python3.12", "12")
    second = python(tmp_path / "pyenv" / "versions" / "3.13.0" / "bin" / "python3.13", "13")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setattr(pythons, "UV", ("/bin/echo",))
    assert pythons.interpreters() == {12: first, 13: second}


def test_a_machine_with_one_python_has_nothing_more_to_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pythons, "interpreters", lambda: {OWN: Path(sys.executable)})
    monkeypatch.setattr(sys, "argv", ["pythons", "--newest", "-q", "-m", "not slow"])
    assert pythons.main() == 0
    assert capsys.readouterr().out == f"Python 3.{OWN} is the newest here, and `make test` runs on it\n"


def test_a_python_without_torch_runs_what_needs_none_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    other = python(tmp_path / "bin" / "python", '"$@"', 3)
    monkeypatch.setattr(pythons, "interpreters", lambda: {OWN: Path(sys.executable), 99: other})
    monkeypatch.setattr(pythons, "environment", lambda minor, interpreter: (interpreter, False))
    monkeypatch.setattr(sys, "argv", ["pythons", "--newest", "-q", "-m", "not slow"])
    assert pythons.main() == 3
    told, given = capfd.readouterr().out.splitlines()
    paths = "tests/devices tests/faults tests/test_layers.py tests/test_walls.py"
    assert told == f"Python 3.99: {paths}; no CPU build of PyTorch for it is at hand"
    assert given == f"-m pytest -q -m not slow {paths}"
    names = {Requirement(line).name for line in pythons.needed(False)}
    assert {"numpy", "flwr", "apsw", "pytest", "mpmath"} <= names and not names & {"torch", "torch-geometric", "ray"}
