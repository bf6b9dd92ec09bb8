"""The command line as a whole: what it imports, tells nobody, and says of an exception."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ldpsim.cli import NO_TELEMETRY
from ldpsim.cli.errors import Failure, explain
from ldpsim.cli.main import app

ROOT = Path(__file__).parents[2]


def python(code: str, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in NO_TELEMETRY}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**kept, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["doctor"]])
def test_help_and_checks_import_nothing_heavy(words: list[str]) -> None:
    """0.3 seconds are allowed; one of these alone takes longer."""
    code = (
        "import contextlib, io, sys\nfrom ldpsim.cli.main import app\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        f"    app({words})\n"
        "heavy = 'scipy', 'torch', 'torch_geometric', 'flwr', 'ray', 'jinja2', 'ldpsim.curator.methods'\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    assert python(code) == "[]"


def test_nothing_is_told_to_anybody() -> None:
    names = list(NO_TELEMETRY)
    told = python(f"import os, cli; print([os.environ[name] for name in {names}])")
    assert told == "['0', '1', '0', 'true', 'false']"
    # Flower reads its variable when it is imported: the value that counts is the one it has then.
    for ours in ("cli", "strategies", "ldpsim.devices.client_app"):
        assert python(f"import {ours}, flwr.supercore.telemetry as t; print(t.FLWR_TELEMETRY_ENABLED)") == "0"


def test_flower_that_was_there_first_tells_nothing_any_more() -> None:
    """``flwr run .``: Flower's process has read its variable before it loads this app."""
    told = "import flwr.supercore.telemetry as t, ldpsim.devices; print(t.create_event(t.EventType.PING, None))"
    assert python(told, FLWR_TELEMETRY_ENABLED="1") == "disabled"


@pytest.mark.parametrize(
    ("error", "line", "code"),
    [
        (ValueError("--x 3: no\n  good"), "--x 3: no good", 2),
        (Failure("refused: none of 3 devices", 3), "refused: none of 3 devices", 3),
        (FileNotFoundError(2, "No such file", "a/b"), "a/b: No such file", 1),
        (MemoryError(), "out of memory (no more was given)", 1),
        (RuntimeError("broken"), "RuntimeError: broken", 1),
        (KeyError(), "KeyError", 1),
    ],
)
def test_what_is_said_about_an_exception(error: Exception, line: str, code: int) -> None:
    assert explain(error) == (line, code)


def fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    from ldpsim import strategies

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(strategies, "simulate", fail)


def test_a_traceback_only_with_debug(monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, RuntimeError("it broke"))
    plain = CliRunner().invoke(app, ["run"])
    assert (plain.exit_code, plain.stderr, plain.stdout) == (1, "error: RuntimeError: it broke\n", "")
    debug = CliRunner().invoke(app, ["run", "--debug"])
    assert debug.exit_code == 1
    assert "Traceback" in debug.stderr
    assert debug.stderr.endswith("error: RuntimeError: it broke\n")


def test_an_interrupt_is_one_line_and_says_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = KeyboardInterrupt()
    fail_with(monkeypatch, stop)
    shown = CliRunner().invoke(app, ["run"])
    assert (shown.exit_code, shown.stdout) == (130, "")
    assert shown.stderr == "error: interrupted: nothing half-written is left, and the same command may be given again\n"
    stop.add_note("3 rounds are kept")
    shown = CliRunner().invoke(app, ["run"])
    assert (shown.exit_code, shown.stderr) == (130, "error: interrupted: 3 rounds are kept\n")


def test_a_refusal_has_an_exit_code_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from ldpsim.strategies import Refused, RunFailed

    fail_with(monkeypatch, Refused("refused: none of 4 devices reported (POLICY_REFUSED 4)"))
    shown = CliRunner().invoke(app, ["run"])
    assert (shown.exit_code, shown.stderr) == (3, "error: refused: none of 4 devices reported (POLICY_REFUSED 4)\n")
    fail_with(monkeypatch, RunFailed("none of 4 devices answered"))
    shown = CliRunner().invoke(app, ["run"])
    assert (shown.exit_code, shown.stderr) == (1, "error: none of 4 devices answered\n")


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m ldpsim.cli.main datasets --json | head -c 1"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr


def test_a_run_whose_output_is_closed_has_its_result(tmp_path: Path) -> None:
    words = f"run --clients 60 --set epochs=2 --no-nulls --no-reference --out {tmp_path}"
    done = subprocess.run(["bash", "-c", f"{sys.executable} -m ldpsim.cli.main {words} >&- 2>&- <&-"], cwd=ROOT)
    assert done.returncode == 0
    (result,) = tmp_path.glob("*/result.json")
    assert b"ldpsim" in result.read_bytes()


OWN = {"cli", "curator", "devices", "ldpsim", "strategies"}
# What a local run uses of other people's packages, and what for. SciPy is counted by its parts.
USED = {
    "click": "the command line",
    "cryptography": "the noise of devices",
    "flwr": "messages between the curator and devices",
    "numpy": "arrays",
    "psutil": "memory of the machine, before a run that may not fit",
    "rich": "what is printed",
    "safetensors": "the stored network",
    "scipy.linalg": "ridge regression, a null model",
    "scipy.optimize": "the temperature of what devices predict from",
    "scipy.sparse": "graphs",
    "scipy.special": "intervals of the printed differences",
    "threadpoolctl": "no thread of BLAS waits on the core of another training",
    "tomli_w": "the stored options",
    "torch": "training",
    "typer": "the command line",
}
_LINE = re.compile(r"import time:\s+\d+ \|\s+\d+ \| ( *)(\S+)$")
RUN = ["run", "--clients", "60", "--method", "hogs", "--feature-share", "0.3", "--set", "epochs=2", "--device", "cpu"]


def importers(lines: str) -> Iterator[tuple[str, str]]:
    """Yield (module, the module that imports it first) from what ``-X importtime`` writes: children before parents."""
    inside: list[tuple[int, str]] = []
    for found in map(_LINE.match, reversed(lines.splitlines())):
        if found:
            depth, name = len(found[1]), found[2]
            while inside and inside[-1][0] >= depth:
                inside.pop()
            yield name, inside[-1][1] if inside else ""
            inside.append((depth, name))


def package(name: str) -> str:
    """Return what counts as one package: ``torch`` for ``torch.nn``, but ``scipy.stats`` for ``scipy.stats.qmc``."""
    return ".".join(name.split(".")[: 2 if name.startswith("scipy.") else 1])


def unused(lines: str) -> list[str]:
    """Return "MODULE, imported by MODULE" of packages that a local run does not use and a module of ours imports."""
    known = OWN | USED.keys() | sys.stdlib_module_names | {"scipy"}
    asked = [(name, by or "a function") for name, by in importers(lines) if package(by) in OWN | {""}]
    return [f"{name}, imported by {by}" for name, by in asked if package(name) not in known]


def child(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=True
    )


def test_a_local_run_imports_only_what_it_uses(tmp_path: Path) -> None:
    shown = child("-X", "importtime", "-m", "ldpsim.cli.main", *RUN, "--out", str(tmp_path), "--quiet").stderr
    assert unused(shown) == []
    loaded = {package(name) for name, _ in importers(shown)}
    assert USED.keys() <= loaded  # power: what is used is seen
    # Other packages may bring no part of SciPy that a run does not use, and none of these.
    brought = {name for name in loaded if name.startswith("scipy.") and not name.startswith("scipy._")}
    by_optimize = {"scipy.constants", "scipy.fft", "scipy.spatial"}
    assert brought - USED.keys() <= {"scipy.version"} | by_optimize, sorted(brought)
    assert not loaded & {"dp_accounting", "jinja2", "matplotlib", "pandas", "ray", "sklearn", "torch_geometric"}
