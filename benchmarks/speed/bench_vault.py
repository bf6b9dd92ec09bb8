"""Answers of a vault in a second, through its socket, beside the same device without a vault.

    python -m benchmarks.speed.bench_vault [--people 300] [--replays 3000]

Replays and refusals need no disk. A release is one durable commit, which takes most of its time.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from benchmarks import ROOT
from benchmarks.speed.process import beside
from ldpsim.curator.methods import HoGS
from ldpsim.curator.methods.base import Budget
from ldpsim.devices import datasets
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.report import Report
from ldpsim.devices.vault.client import VaultDevice
from ldpsim.devices.vault.protocol import FrameKind


@contextmanager
def served(folder: Path, path: Path) -> Iterator[psutil.Process]:
    """Run a vault in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "ldpsim.cli.main",
        "device",
        "serve",
        "--state",
        str(folder),
        "--socket",
        str(path),
    ]
    vault = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        while not path.exists():
            time.sleep(0.05)
        VaultDevice(str(path), 0).refuse(FrameKind.UNKNOWN)
        yield psutil.Process(vault.pid)
    finally:
        vault.terminate()
        vault.wait()


def rate(ask: Callable[[int], object], number: int) -> float:
    """Questions answered in a second."""
    began = time.perf_counter()
    for i in range(number):
        ask(i)
    return number / (time.perf_counter() - began)


def main() -> None:
    """Print one line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=300)
    parser.add_argument("--replays", type=int, default=3_000)
    given = parser.parse_args()
    people, replays = given.people, given.replays
    population = datasets.load("generated", clients=people, seed=0)
    split = make_split("random", population, 0)
    (asked,) = HoGS().questions(population.facts, split, Budget(), "bench")
    question = asked.query.to_bytes()
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        for folder in ("behind", "bare"):
            enrol(home / folder, population, policy_for([asked.query], population.facts), seed=1).close()
            (home / folder).chmod(0o700)
        bare = State(home / "bare")
        with served(home / "behind", home / "v") as vault:
            behind = [VaultDevice(str(home / "v"), i) for i in range(people)]
            first = rate(lambda i: behind[i].answer(question), people)
            before = vault.cpu_times()
            again = rate(lambda i: behind[i % people].answer(question), replays)
            after = vault.cpu_times()
            used = after.user + after.system - before.user - before.system
            a_core = replays / max(used, 0.01)  # the clock's tick
            assert isinstance(behind[0].answer(question), Report)
        first_bare = rate(lambda i: bare.device(i).answer(question), people)
        again_bare = rate(lambda i: bare.device(i % people).answer(question), replays)
    print(
        f"vault, one connection a question: {first:,.0f} releases/s and {again:,.0f} replays/s "
        f"({first / first_bare:.2f} and {again / again_bare:.2f} of a device asked directly), "
        f"{a_core:,.0f} replays a CPU second of the vault; "
        f"{beside()}"
    )


if __name__ == "__main__":
    main()
