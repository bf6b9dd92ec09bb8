"""Two copies of one state folder that reach one counter, in two processes, with real syncs.

Both copies are asked at the same moment, at different budgets. Exactly one of them releases.
The copies are real folders, the processes real processes; the counter is a folder, or a
PostgreSQL server.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.ledger.rows import LedgerDamaged
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.query import Query
from tests import warm

ROOT = Path(__file__).parents[3]

# Two forked processes, one for each copy, that meet before each question.
RACE = """
import json, multiprocessing, os, random, sys, time
from pathlib import Path
from ldpsim.devices.device import answer
from ldpsim.devices.report import Report
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.ledger.ledger import Ledger

def name(answer):
    return "report" if isinstance(answer, Report) else answer.name

def alone(state, devices, question, barrier):
    rng, said = random.Random(os.getpid()), {}
    for index in devices:
        device = state.device(index)
        barrier.wait()
        time.sleep(rng.choice((0, 0, 0.0005)))
        said[index] = name(device.answer(question))
    return said

def batch(state, devices, question, barrier):
    enter = Ledger.enter
    def entering(*given):
        enter(*given)
        barrier.wait()  # both batches are open, and nothing is committed
    Ledger.enter = entering
    barrier.wait()
    return dict(zip(devices, map(name, answer(state, devices, question))))

def child(folder, question, devices, how, barrier, out):
    said = globals()[how](State(Path(folder)), devices, bytes.fromhex(question), barrier)
    Path(out).write_text(json.dumps(said))

how, out, *tasks = sys.argv[1:]
context = multiprocessing.get_context("fork")
barrier = context.Barrier(2)
running = []
for number in (0, 1):
    folder, question, devices = tasks[3 * number : 3 * number + 3]
    running.append(context.Process(target=child, args=(
        folder, question, range(*map(int, devices.split("-"))), how, barrier, f"{out}-{number}")))
for process in running:
    process.start()
for process in running:
    process.join()
    assert process.exitcode == 0
"""

Copies = Callable[..., tuple[Path, Path]]


@pytest.fixture
def copies(
    tmp_path: Path, people: Callable[..., Population], policy_of: Callable[..., Policy]
) -> Callable[[int, str], tuple[Path, Path]]:
    """Enrol devices that are counted, and copy their folder."""

    def make(n: int, place: str) -> tuple[Path, Path]:
        population = people(n=n)
        enrol(tmp_path / "state", population, policy_of(population), seed=1, counters=place).close()
        return tmp_path / "state", Path(shutil.copytree(tmp_path / "state", tmp_path / "copy"))

    return make


def race(
    folders: tuple[Path, Path], questions: list[Query], how: str, devices: tuple[str, str]
) -> list[dict[int, str]]:
    """Ask both folders at once; return what each device of each folder said."""
    out = folders[0].parent / "said"
    tasks = [
        text
        for folder, question, which in zip(folders, questions, devices, strict=True)
        for text in (str(folder), question.to_bytes().hex(), which)
    ]
    done = warm.run([sys.executable, "-c", RACE, how, str(out), *tasks], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = [json.loads(Path(f"{out}-{number}").read_text()) for number in (0, 1)]
    return [{int(device): said for device, said in answers.items()} for answers in found]


@pytest.mark.parametrize("n", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_copies_that_are_asked_at_once(place: str, copies: Copies, ask_for: Callable[..., Query], n: int) -> None:
    folders = copies(n, place)
    questions = [ask_for("c", n=n, eps=eps) for eps in (1.0, 2.0)]
    first, second = race(folders, questions, "alone", (f"0-{n}", f"0-{n}"))
    pairs = [{first[device], second[device]} for device in range(n)]
    double = sum(pair == {"report"} for pair in pairs)
    assert double == 0, f"{double} of {n} devices released twice"
    assert pairs == [{"report", "COUNTER_MISMATCH"}] * n  # and exactly one of the two answered
    assert {"report"} < set(first.values()) | set(second.values())
    # Afterwards the winner of each device repeats its answer, and the loser says nothing.
    for folder, question, said in zip(folders, questions, (first, second), strict=True):
        state = State(folder)
        for device in range(0, n, max(1, n // 20)):
            again = state.device(device).answer(question)
            assert (said[device] == "report") == hasattr(again, "data"), (device, said[device], again)
            (chain,) = state.ledger(device).chains(state.seal_keys([device])).values()
            assert isinstance(chain, LedgerDamaged) == (said[device] != "report")


@pytest.mark.parametrize("devices", [("0-64", "0-64"), ("0-64", "32-96"), ("10-11", "0-64")])
def test_copies_with_open_batches(
    place: str, copies: Copies, ask_for: Callable[..., Query], devices: tuple[str, str]
) -> None:
    """Both batches are open before one is committed. A device of both answers once, one of a single batch answers."""
    folders = copies(96, place)
    questions = [ask_for("c", n=96, eps=eps) for eps in (1.0, 2.0)]
    first, second = race(folders, questions, "batch", devices)
    both = first.keys() & second.keys()
    assert both
    for device in both:
        assert sorted([first[device], second[device]]) == ["COUNTER_MISMATCH", "report"]
    assert len({first[device] for device in both}) == 1  # the change of a counter is one step
    for answers in (first, second):
        assert {answers[device] for device in answers.keys() - both} <= {"report"}
