"""The ledger is atomic between threads and processes."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.query import Query
from ldpsim.devices.report import Report
from tests import warm

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("same_ledger_object", [True, False])
def test_threads_that_claim_at_once(
    tmp_path: Path,
    people: Callable[..., Population],
    policy_of: Callable[..., Policy],
    ask_for: Callable[..., Query],
    same_ledger_object: bool,
) -> None:
    population = people(n=40)
    state = enrol(tmp_path / "s", population, policy_of(population), seed=1)
    states = [state] * 4 if same_ledger_object else [State(state.folder) for _ in range(4)]
    questions = [ask_for("c", n=40, eps=eps) for eps in (1.0, 1.0, 2.0, 3.0)]
    barrier = threading.Barrier(4)
    answers: list[dict[int, object]] = [{} for _ in range(4)]

    def run(worker: int) -> None:
        for index in range(40):
            barrier.wait()
            answers[worker][index] = states[worker].device(index).answer(questions[worker])

    threads = [threading.Thread(target=run, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index in range(40):
        given = [answers[worker][index] for worker in range(4)]
        reports = [a for a in given if isinstance(a, Report)]
        assert all(a is Refusal.REPORT_COLLECTED for a in given if not isinstance(a, Report))
        assert len({r.data for r in reports}) == 1 and sum(not r.replayed for r in reports) == 1
        assert isinstance(given[0], Report) == isinstance(given[1], Report)


RACE = """
import hashlib, json, os, sys, time
from pathlib import Path
from ldpsim.devices.report import Report
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.query import Query
folder, questions = Path(sys.argv[1]), [bytes.fromhex(q) for q in sys.argv[2:]]
gate, children = os.pipe(), []
for number, question in enumerate(questions):
    out = os.pipe()
    if os.fork() == 0:
        os.close(gate[1])
        os.read(gate[0], 1)
        state = State(folder)
        said = [None] * len(state)
        for index in range(len(state))[:: -1 if number else 1]:  # they meet in the middle
            time.sleep(0.001)
            answer = state.device(index).answer(question)
            said[index] = ([hashlib.sha256(answer.data).hexdigest(), answer.replayed] if isinstance(answer, Report)
                           else answer.name)
        os.close(out[0])
        with os.fdopen(out[1], "w") as file:
            json.dump(said, file)
        os._exit(0)
    os.close(out[1])
    children.append(out[0])
os.close(gate[1])
print(json.dumps([json.load(os.fdopen(child)) for child in children]))
"""


@pytest.mark.parametrize("same", [True, False])
def test_processes_that_claim_at_once(
    tmp_path: Path,
    people: Callable[..., Population],
    policy_of: Callable[..., Policy],
    ask_for: Callable[..., Query],
    same: bool,
) -> None:
    """Two processes ask every device at the same moment, the same question or two different ones."""
    population = people(n=150)
    enrol(tmp_path / "s", population, policy_of(population), seed=1).close()
    questions = [ask_for("c", n=150, eps=eps).to_bytes().hex() for eps in (1.0, 1.0 if same else 2.0)]
    done = warm.run(
        [sys.executable, "-c", RACE, str(tmp_path / "s"), *questions],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    first, second = json.loads(done.stdout)
    for a, b in zip(first, second, strict=True):
        if same:
            assert a[0] == b[0] and sorted([a[1], b[1]]) == [False, True]
        else:
            assert sorted([isinstance(a, str), isinstance(b, str)]) == [False, True]
            assert "REPORT_COLLECTED" in (a, b)
    if not same:
        assert len({isinstance(a, str) for a in first}) == 2, "one process was done before the other began"
