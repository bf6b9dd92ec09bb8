"""kill -9 in the middle of a collection: nobody ever gives two different reports.

A child process collects from all devices, one question in one run and another budget in
the next; every reply that leaves is written down at once. The child is killed at random
moments, and started again. With a ledger that loses a commit, or a reply that leaves before
it, some device would answer two budgets. (The simulator of faults kills at every step.)

The loop runs in a process of its own that forks the children, so that no test runner's
threads are forked and what the children import is imported once.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from ldpsim.devices.device import answer
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.ledger.rows import head_of
from tests import warm
from tests.devices.conftest import ask_for, people, policy_of
from tests.devices.ledger.entries import readable

ROOT = Path(__file__).parents[3]
SIZE, BATCH, KILLS = 240, 8, 20

LOOP = """
import hashlib, json, os, random, signal, sys, time
from pathlib import Path
import numpy as np
from flwr.app import Message
from flwr.supercore.task_identity import TaskIdentity
from ldpsim.devices import wire
from ldpsim.devices.device import Refusal
from ldpsim.devices.query import Query
from tests.fleets import fleet_of

TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
folder, size, batch, kills, mode = Path(sys.argv[1]), *map(int, sys.argv[2:5]), sys.argv[5]
questions = [Query.from_bytes(bytes.fromhex(q)) for q in sys.argv[6:]]
log = os.open(sys.argv[1] + ".log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def answers(question):
    content = wire.query_content(question)
    if not together:
        messages = [Message(content, i + 1, wire.QUERY_TYPE) for i in range(size)]
        for reply in fleet_of(folder, batch=batch).answer(messages):
            read = wire.read_reply(reply)
            yield reply.metadata.src_node_id - 1, read[1] if isinstance(read, tuple) else read
        return
    groups = [np.arange(first, first + batch) for first in range(0, size, batch)]
    many = [Message(wire.batch_content(content, group), int(group[0]) + 1, wire.REPORTS_TYPE) for group in groups]
    for group, reply in zip(groups, fleet_of(folder).answer(many)):
        yield from zip(group.tolist(), wire.read_batch_reply(reply, batch))

def collect(question, stop):
    for sent, (device, answer) in enumerate(answers(question)):
        said = answer.name if isinstance(answer, Refusal) else hashlib.sha256(answer.data).hexdigest()
        os.write(log, f"{device} {said}\\n".encode())
        if sent == stop:
            os.kill(os.getpid(), signal.SIGKILL)

def child(question, stop=None):
    pid = os.fork()
    if pid == 0:
        try:
            collect(question, stop)
        finally:
            os._exit(0)
    return pid

died, together = 0, False
rng = random.Random(0)
for number in range(kills):
    question = questions[number % len(questions)]
    together = number // 2 % 2 == 0  # two runs with messages to many devices, two with one for each
    if mode == "at random":
        # Every run begins with the first device, so a later kill waits for more replies; then any moment.
        written = os.fstat(log).st_size
        pid = child(question)
        wanted = 10 * (size * number / kills + rng.uniform(0, batch))
        done = os.WEXITED | os.WNOHANG | os.WNOWAIT
        while os.fstat(log).st_size - written < wanted and not os.waitid(os.P_PID, pid, done):
            time.sleep(0.0002)
        time.sleep(rng.uniform(0, 0.003))
        os.kill(pid, signal.SIGKILL)
    else:  # while replies leave
        pid = child(question, stop=number * size // kills + rng.randrange(size // kills))
    died += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
for question in questions:
    os.waitpid(child(question), 0)
print(json.dumps({"died": died}))
"""


@pytest.mark.parametrize("mode", ["at random", "while replies leave"])
@pytest.mark.parametrize("counted", [False, True])
def test_a_killed_collection_never_gives_two_reports(tmp_path: Path, mode: str, counted: bool) -> None:
    folder = tmp_path / "state"
    population = people(n=SIZE)
    counters = tmp_path / "apart" if counted else None
    enrol(folder, population, policy_of(population), seed=3, counters=counters).close()
    asked = [ask_for("open", n=SIZE, eps=eps) for eps in (1.0, 2.0)]
    kills = KILLS if mode == "at random" else 4
    done = warm.run(
        [sys.executable, "-c", LOOP, str(folder), str(SIZE), str(BATCH), str(kills), mode]
        + [query.to_bytes().hex() for query in asked],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said: dict[int, set[str]] = defaultdict(set)
    for line in Path(f"{folder}.log").read_text().splitlines():
        index, what = line.split()
        said[int(index)].add(what)
    assert json.loads(done.stdout)["died"] >= kills // 2
    # The two last runs were not killed: every device gave one report and refused the other budget.
    for index in range(SIZE):
        assert said[index] - {"REPORT_COLLECTED"} and len(said[index]) == 2, (index, said[index])
        assert "REPORT_COLLECTED" in said[index]
    # Both budgets were answered by somebody: runs were killed before they were through.
    state = State(folder)
    entered: dict[str, int] = defaultdict(int)
    for index in range(SIZE):
        (row,) = state.ledger(index).answers(index)
        assert [part.attribute for part in row.parts] == ["adjacency", "features", "label"]
        assert len({part.loss.bit for part in row.parts}) == 1
        assert readable(state.ledger(index), index, state.seal_key(index))
        entered[str(row.parts[0].loss.bit)] += 1
    assert set(entered) == {"1.0", "2.0"}, entered
    counter = state.counter(0)
    if counter is not None:
        held = {device: entry.head for device, entry in counter.entries(range(SIZE)).items()}
        assert held == {device: head_of(state.ledger().answers(device)) for device in range(SIZE)}


def test_a_collection_killed_anywhere_is_finished_by_the_same_question(tmp_path: Path) -> None:
    """Resumed, it ends with the reports that it would have had without the kills."""
    population = people(n=SIZE)
    query = ask_for("open", n=SIZE)
    never_killed = enrol(tmp_path / "other", population, policy_of(population), seed=3)
    expected = [report.data for report in answer(never_killed, range(SIZE), query)]  # type: ignore[union-attr]
    folder = tmp_path / "state"
    enrol(folder, population, policy_of(population), seed=3).close()
    done = warm.run(
        [sys.executable, "-c", LOOP, str(folder), str(SIZE), str(BATCH), "8", "at random", query.to_bytes().hex()],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    state = State(folder)
    answers: list[Any] = answer(state, range(SIZE), query)
    assert [a.data for a in answers] == expected and all(a.replayed for a in answers)
    assert [row.device for row in Ledger(folder / "ledger.sqlite").answers()] == list(range(SIZE))
