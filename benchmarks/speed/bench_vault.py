"""Answers a vault gives in a second, through its socket, beside the same device without one.

Replays and refusals need no disk; a release is one durable commit, which is most of its time.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from curator.methods import HoGS  # noqa: E402
from curator.methods.base import Budget  # noqa: E402
from devices import datasets  # noqa: E402
from devices.data.splits import make_split  # noqa: E402
from devices.device import Report  # noqa: E402
from devices.enrolment.state import State, enrol  # noqa: E402
from devices.policy.policy import policy_for  # noqa: E402
from devices.vault.client import VaultDevice  # noqa: E402

PEOPLE, REPLAYS = 300, 3_000


@contextmanager
def served(folder: Path, path: Path) -> Iterator[psutil.Process]:
    """Run a vault in a process of its own."""
    command = [sys.executable, "-m", "cli.main", "device", "serve", "--state", str(folder), "--socket", str(path)]
    vault = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        while not path.exists():
            time.sleep(0.05)
        VaultDevice(str(path), 0).refuse_unknown()
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
    population = datasets.load("generated", clients=PEOPLE, seed=0)
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
            behind = [VaultDevice(str(home / "v"), i) for i in range(PEOPLE)]
            first = rate(lambda i: behind[i].answer(question), PEOPLE)
            before = vault.cpu_times()
            again = rate(lambda i: behind[i % PEOPLE].answer(question), REPLAYS)
            after = vault.cpu_times()
            a_core = REPLAYS / (after.user + after.system - before.user - before.system)
            assert isinstance(behind[0].answer(question), Report)
        first_bare = rate(lambda i: bare.device(i).answer(question), PEOPLE)
        again_bare = rate(lambda i: bare.device(i % PEOPLE).answer(question), REPLAYS)
    print(
        f"vault, one connection a question: {first:,.0f} releases/s and {again:,.0f} replays/s "
        f"({first / first_bare:.2f} and {again / again_bare:.2f} of a device asked directly), "
        f"{a_core:,.0f} replays a CPU second of the vault; "
        f"{os.cpu_count()} cores, Python {platform.python_version()}"
    )


if __name__ == "__main__":
    main()
