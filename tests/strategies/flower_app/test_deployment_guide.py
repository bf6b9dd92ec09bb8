"""docs/deployment.md: its commands are run as they stand, with TLS, node keys and four vaults, on loopback."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "docs" / "deployment.md").read_text()
MARK = "LDPSIM_GUIDE"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


def free_ports(number: int) -> int:
    """Return a port after which the next ones are free too."""
    for start in range(20_000 + os.getpid() % 20_000, 60_000, 10):
        try:
            for port in range(start, start + number):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return start
        except OSError:
            continue
    raise OSError("no free ports")


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    for tool in ("bash", "openssl", "ssh-keygen", "curl"):
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    mark = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="ldpsim-") as here:  # a socket's path is short
        yield {
            **os.environ, MARK: mark, "LDPSIM": str(ROOT), "HERE": here, "PORT": str(free_ports(6)),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
        }  # fmt: skip
        ended = stop(mark)
    # Flower's own helper looks for its parent now and then, and ends after it.
    assert [command for command in ended if "flower-superexec" not in command] == []


def stop(mark: str) -> list[str]:
    """End what the guide started and did not end, by its mark; return what that was."""
    gone = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == mark:
                process.wait(10)
        except psutil.TimeoutExpired:
            gone.append(" ".join(process.cmdline()))
            process.send_signal(signal.SIGKILL)
        except (psutil.Error, OSError):
            continue
    return gone


@pytest.mark.deployment
@pytest.mark.timeout(900)
def test_the_rehearsal(environment: dict[str, str]) -> None:
    *commands, last = blocks("sh")
    assert "kill" in last
    here, port = Path(environment["HERE"]), int(environment["PORT"])
    strangers = f"""
    # Power: a node whose key nobody registered, one without a key, and one that does not trust the authority.
    ssh-keygen -q -t ecdsa -b 384 -N "" -f stranger
    join() {{ FLWR_HOME=$HERE/stranger-home timeout 20 flower-supernode --superlink 127.0.0.1:$PORT --host 127.0.0.1 \
      --port {port + 5} --max-retries 1 --node-config "partition-id=0" "$@"; }}
    join --root-certificates ca.pem --auth-supernode-private-key stranger > stranger-1.log 2>&1 || true
    join --root-certificates ca.pem > stranger-2.log 2>&1 || true
    cp superlink.pem other.pem
    join --root-certificates other.pem --auth-supernode-private-key node-0 > stranger-3.log 2>&1 || true
    flwr supernode list rehearsal --format json > nodes.json
    """
    script = "set -eu\ntrap 'kill $(cat pids) 2> /dev/null || true' EXIT\n" + "\n".join([*commands, strangers])
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=800)
    told = done.stdout + done.stderr + "".join(p.read_text(errors="replace")[-1500:] for p in here.glob("*.log"))
    assert done.returncode == 0, told
    summary = json.loads((here / "out" / "hogs-one" / "summary.json").read_text())
    assert summary["devices"]["asked"] == summary["devices"]["reported"] == 4, told
    # The hostile run came first and was refused by all; the honest one was answered by all, once.
    told_refusals = re.findall(r"none of 4 devices reported \(\{'(\w+)': (\d)\}\)", done.stdout)
    assert list(dict.fromkeys(told_refusals)) == [("COLLECTOR_REFUSED", "4"), ("REPORT_COLLECTED", "4")], told
    assert not (here / "out" / "hogs-ghost").exists() and not (here / "out" / "hogs-two").exists()
    print(*(line for line in done.stdout.splitlines() if "asked 4" in line), sep="\n")
    assert "adjacency" in done.stdout and "device 2 released" in done.stdout
    for i in range(4):
        log = (here / f"vault-{i}.log").read_text()
        assert log.count("released a report") == 1 and "reported 1" in log, log
        assert "COLLECTOR_REFUSED 1, REPORT_COLLECTED 1" in log, log
        assert not (here / f"vault-{i}.socket").exists() and not (here / f"own-{i}.json").exists()
        assert {p.stat().st_mode & 0o077 for p in (here / f"vault-{i}").rglob("*")} == {0}
    served = (here / "superlink.log").read_text()
    assert "Uvicorn running on https" in served
    nodes = json.loads((here / "nodes.json").read_text())
    assert len(nodes["nodes"]) == 4  # and no stranger among them
    assert '/v1/fleet/register-node HTTP/1.1" 412' in served
    joined_as = {
        path.name: "SuperNode ID: " in path.read_text() for path in here.glob("*.log") if "vault" not in path.name
    }
    assert {name for name, in_ in joined_as.items() if in_} == {f"node-{i}.log" for i in range(4)}, told


@pytest.mark.parametrize("unit", blocks("ini"), ids=["vault", "supernode"])
def test_the_units_are_units(unit: str, tmp_path: Path) -> None:
    """Every key is one that systemd knows; the programs they name exist on a device, not here."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    path = tmp_path / "guide.service"
    path.write_text(re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", unit))
    checked = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True, timeout=60)
    complaints = [line for line in checked.stderr.splitlines() if "guide.service" in line]
    assert complaints == []
    # Power: a key that does not exist is complained about.
    path.write_text(path.read_text().replace("NoNewPrivileges", "NoNewPrivilegez"))
    checked = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True, timeout=60)
    assert "NoNewPrivilegez" in checked.stderr


def test_the_guide_s_options_are_those_of_the_programs() -> None:
    """Each option of a command of ours that the guide writes is one that the command has."""
    from typer.testing import CliRunner

    from cli.main import app

    serve = CliRunner().invoke(app, ["device", "serve", "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
    lines = [line for kind in ("sh", "ini") for block in blocks(kind) for line in joined(block)
             if "ldpsim device serve" in line]  # fmt: skip
    assert len(lines) == 2
    for line in lines:
        for option in re.findall(r"--[a-z-]+", line):
            assert option in serve, option


def joined(block: str) -> list[str]:
    return block.replace("\\\n", " ").splitlines()
