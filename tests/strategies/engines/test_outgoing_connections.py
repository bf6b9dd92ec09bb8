"""Connections that leave the machine: every Python process of a run writes down whom it looks up or calls.

A hook of Python's audit events is loaded into each process (``sitecustomize``). It lets
nothing out, so that the tests tell nobody anything.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from ldpsim.devices import NO_TELEMETRY
from tests.golden.comparing import GOLDEN, OF_THE_MACHINE, check, check_exact
from tests.golden.performing import figures, perform
from tests.golden.runs import RUNS

ROOT = Path(__file__).resolve().parents[3]
# Ray's helper process asks at start whether it runs in a cloud, although its statistics are switched off.
RAY_ASKS = {("dashboard.py", "169.254.169.254"), ("dashboard.py", "metadata.google.internal")}
HOOK = """
import ipaddress, json, os, sys

OWN = set(json.loads(os.environ["AUDIT_OWN"]))

def stays(host):
    if not host or host == "localhost" or host in OWN:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False

def write(name, value):
    log = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, json.dumps(value).encode() + b"\\n")
    os.close(log)

def hook(event, args):
    if event == "socket.getaddrinfo":
        host = args[0]
    elif event == "import":
        if args[0] == "ldpsim.devices" or args[0].partition(".")[0] in ("devices", "curator", "strategies", "cli"):
            write(os.environ["AUDIT_LOG"] + ".modules", [args[0], os.getpid()])
        return
    elif event in ("socket.connect", "socket.sendto") and isinstance(args[1], tuple):
        if event == "socket.connect" and args[0].type == 2:
            return  # connecting a datagram socket sends nothing; Ray learns the machine's address so
        host = args[1][0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if stays(host):
        return
    frame, files = sys._getframe(), []
    while frame is not None:
        files.append(frame.f_code.co_filename)
        frame = frame.f_back
    program = os.path.basename(sys.argv[0] if sys.argv else "")
    write(os.environ["AUDIT_LOG"], {"host": host, "program": program, "files": files})
    raise OSError("nothing leaves a test")

sys.addaudithook(hook)
"""
Audit = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Audit:
    """Load the hook into all processes that are started; the function returns what they wrote down."""
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(HOOK)
    own = [address.address for each in psutil.net_if_addrs().values() for address in each]
    monkeypatch.setenv("AUDIT_OWN", json.dumps([*own, socket.gethostname(), socket.getfqdn()]))
    monkeypatch.setenv("AUDIT_LOG", str(tmp_path / "audit.log"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path / "hook"), str(ROOT))))
    for name in NO_TELEMETRY:
        monkeypatch.delenv(name, raising=False)

    def lines() -> list[dict[str, Any]]:
        log = tmp_path / "audit.log"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    return lines


def asked(audit: Audit) -> set[tuple[str, str]]:
    return {(line["program"], line["host"]) for line in audit()}


def python(*args: str, folder: Path = ROOT) -> None:
    done = subprocess.run([sys.executable, *args], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_hook_sees_and_stops(audit: Audit, tmp_path: Path) -> None:
    python("-c", "import urllib.request\ntry: urllib.request.urlopen('http://flower.ai')\nexcept OSError: pass")
    python("-c", "import socket; socket.create_server(('127.0.0.1', 0)); socket.getaddrinfo('localhost', 80)")
    assert [line["host"] for line in audit()] == ["flower.ai"]
    python("-c", "import devices.facts, ldpsim.devices")
    names = [json.loads(line)[0] for line in (tmp_path / "audit.log.modules").read_text().splitlines()]
    assert {"devices", "devices.facts", "ldpsim.devices"} <= {*names}


@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=pytest.mark.slow)])
def test_a_run_of_the_command_line_connects_to_nobody(
    engine: str, audit: Audit, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The run is a golden one: reports, counts, traffic and losses are the same on all engines."""
    if engine == "ray":
        request.getfixturevalue("ray_here")
    python("-m", "ldpsim.cli.main", "run", "--method", "hogs", "--dataset", "generated", "--clients", "40",
           "--dropout", "0.2", "--private-labels", "--eps-labels", "1", "--set", "epochs=40", "--device", "cpu",
           "--engine", engine, "--workers", "1", "--no-reference", *(() if engine == "local" else ("--no-nulls",)),
           "--quiet", "--out", str(tmp_path / "out"))  # fmt: skip
    (result,) = (tmp_path / "out").glob("*/result.json")
    found = figures(json.loads(result.read_text()), None, result.parent)
    check_exact(found, GOLDEN["hogs-labels-dropout"], but={"options", *OF_THE_MACHINE})
    assert asked(audit) - (set() if engine == "local" else RAY_ASKS) == set()
    loaded = [json.loads(line) for line in (tmp_path / "audit.log.modules").read_text().splitlines()]
    assert {module for module, _ in loaded} == {"ldpsim.devices"}, (
        "a package was loaded a second time, by its bare name"
    )
    assert len({process for _, process in loaded}) > (engine != "local"), "the workers load it, too"


@pytest.mark.flower
def test_flwr_run_connects_nowhere(audit: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flower's own processes do by default, before they load this app; its variables stop them.

    The run is golden: 30 devices under Flower's runtime send the bytes that they send on the local engine.
    """
    monkeypatch.setenv("FLWR_TELEMETRY_ENABLED", "0")
    monkeypatch.setenv("FLWR_DISABLE_UPDATE_CHECK", "1")
    check("flwr-run", perform(RUNS["flwr-run"], tmp_path))
    assert asked(audit) - RAY_ASKS == set()
