"""Commands of docs/deployment.md, and processes that they start: every one has a mark and is ended."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "docs" / "deployment.md").read_text()
MARK = "LDPSIM_GUIDE"
TOOLS = ("bash", "openssl", "ssh-keygen", "curl")


def blocks(kind: str) -> list[str]:
    """Return the code blocks of the guide in a language."""
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


@contextmanager
def rehearsing(installed: Path, **more: str) -> Iterator[dict[str, str]]:
    """Yield the environment of the guide's commands, and end what they leave.

    Args:
        installed: Environment in which ldpsim is installed.
        more: Further variables.
    """
    for tool in TOOLS:
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    mark = secrets.token_hex(16)
    left_out = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LDPSIM_DATA", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    with tempfile.TemporaryDirectory(prefix="ldpsim-") as here:  # a socket's path is short
        variables = {
            **kept, MARK: mark, "LDPSIM": str(installed), "HERE": here, "PORT": str(free_ports(7)),
            "OMP_NUM_THREADS": "1", "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost", **more,
        }  # fmt: skip
        try:
            yield variables
        finally:
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


def perform(commands: list[str], environment: Mapping[str, str], seconds: float) -> str:
    """Run commands of the guide one after the other; return what they print, and the ends of all logs.

    Raises:
        AssertionError: if one of them fails.
    """
    script = "set -eu\ntrap 'kill $(cat pids) 2> /dev/null || true' EXIT\n" + "\n".join(commands)
    started = time.monotonic()
    # timeout's signal lets the trap end what was started.
    done = subprocess.run(["timeout", f"{seconds:g}", "bash", "-c", script], env=dict(environment), capture_output=True,
                          text=True, check=False)  # fmt: skip
    print(f"{time.monotonic() - started:.0f} seconds")
    logs = Path(environment["HERE"]).glob("*.log")
    told = done.stdout + done.stderr + "".join(log.read_text(errors="replace")[-1500:] for log in logs)
    assert done.returncode == 0, told
    return told


def two_devices_twice() -> list[str]:
    """Return the guide's commands for two of the four devices: a collection of hogs, and one of vote with other vaults.

    The stranger's run and the second question are left out, so that this takes little time.
    """
    start, certificates, superlink, policies, vaults, nodes, _, collection, _, _, stop_all = blocks("sh")
    two, few = ("0 1 2 3", "0 1"), ("epsilon = 8.0", "epsilon = 8.0\nminimum-nodes = 2")
    again = """
    kill $(sed -n 2,3p pids)  # the vaults; the SuperNodes stay
    while [ -e vault-0.socket ] || [ -e vault-1.socket ]; do sleep 0.1; done
    mv vault-0 hogs-vault-0; mv vault-1 hogs-vault-1; mv vault-0.log hogs-vault-0.log; mv vault-1.log hogs-vault-1.log
    """
    vote = [
        edited(policies, ("ldpsim curator keygen curator\n", ""), ("--method hogs", "--method vote")),
        edited(vaults, two),
        edited(collection, few, ('method = "hogs"', 'method = "vote"'), ("hogs-one", "vote-one")),
    ]
    return [start, certificates, superlink, policies, edited(vaults, two), edited(nodes, two), edited(collection, few),
            again, *vote, stop_all, "wait"]  # fmt: skip


def edited(block: str, *changes: tuple[str, str]) -> str:
    """Return a block with words exchanged; each of them stands in it."""
    for old, new in changes:
        assert old in block, (old, block)
        block = block.replace(old, new)
    return block
