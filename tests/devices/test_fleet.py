"""Many devices in one process: the answers of each one alone, one commit a batch, and no report before it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Context, Message, RecordDict

from ldpsim.devices import client_app, wire
from ldpsim.devices.client_app import open_state
from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal, answer, answering
from ldpsim.devices.draw import Drawn, DrawTask
from ldpsim.devices.enrolment import state as enrolment
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.fleet import Fleet
from ldpsim.devices.ledger import rows
from ldpsim.devices.mechanisms import OneBit
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.query import InvalidQuery, Query
from ldpsim.devices.report import Report
from tests.devices.conftest import ask_for, policy_of
from tests.fleets import fleet_of, release_states

ALL = range(12)
Got = list[Report | Refusal]
Question = Query | bytes


def fresh(got: Got) -> list[int]:
    return [device for device, one in enumerate(got) if isinstance(one, Report) and not one.replayed]


def repeated(got: Got) -> list[int]:
    return [device for device, one in enumerate(got) if isinstance(one, Report) and one.replayed]


# --- alone and together -----------------------------------------------------------------


class Twins:
    """Two folders of the same devices: the first ones are asked one by one, the second ones together."""

    def __init__(self, place: Path, population: Population, policy: Policy, **enrolled: Any) -> None:
        counted = enrolled.pop("counted", False)
        self.states = []
        for name in ("alone", "together"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(os, "urandom", lambda size: bytes(range(size)))  # both get the same nonces
                counters = place / f"{name}-counters" if counted else None
                self.states.append(enrol(place / name, population, policy, seed=7, counters=counters, **enrolled))

    def ask(self, question: Question, devices: Sequence[int] = ALL) -> Got:
        alone, together = self.states
        got = answer(together, devices, question)
        assert got == [answer(alone, [device], question)[0] for device in devices]
        assert self.contents(alone) == self.contents(together)
        return got

    @staticmethod
    def contents(state: State) -> object:
        """Return every row of every device with its seal, and the heads that the counter holds."""
        counter = state.counter(0)
        heads = None if counter is None else {d: entry.head for d, entry in counter.entries(ALL).items()}
        return state.ledger()._db.execute("SELECT * FROM answer ORDER BY device, number").fetchall(), heads

    def edit(self, sql: str) -> None:
        for state in self.states:
            state.ledger()._db.execute(sql)


@pytest.fixture
def twins(tmp_path: Path, population: Population, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Twins]:
    monkeypatch.setattr(rows.time, "time", lambda: 1.5)  # a row holds the time, and its seal covers it

    def make(*, people: Population = population, policy: Policy | None = None, **given: Any) -> Twins:
        own = {name: given.pop(name) for name in ("residents", "counted") if name in given}
        return Twins(tmp_path, people, policy or policy_of(people, **given), **own)

    return make


def test_alone_and_together(twins: Callable[..., Twins]) -> None:
    pair = twins()
    assert fresh(pair.ask(ask_for(attributes="f"), [0, 3, 4, 11])) == [0, 1, 2, 3]
    assert repeated(pair.ask(ask_for(attributes="f"))) == [0, 3, 4, 11]
    for other in (ask_for("second", attributes="f"), ask_for(attributes="f", eps=2.0), ask_for()):
        assert pair.ask(other) == [Refusal.REPORT_COLLECTED] * 12
    assert pair.ask(b"?") == [Refusal.UNKNOWN_QUERY] * 12 and pair.ask(ask_for(n=5)) == [Refusal.POLICY_REFUSED] * 12
    pair.edit("UPDATE answer SET collection = 'x' WHERE device = 2")
    pair.edit("UPDATE answer SET number = 1 WHERE device = 3")
    pair.edit("UPDATE answer SET body = 'text' WHERE device = 5")
    got = pair.ask(ask_for(attributes="al"))
    assert [d for d in ALL if got[d] is Refusal.LEDGER_DAMAGED] == [2, 3, 5]
    assert fresh(got) == [d for d in ALL if d not in (2, 3, 5)]
    for question in (b"", ask_for(n=5).to_bytes()):
        assert pair.ask(question).count(Refusal.LEDGER_DAMAGED) == 3


def test_a_mechanism_that_fails_for_some(twins: Callable[..., Twins], monkeypatch: pytest.MonkeyPatch) -> None:
    """A mechanism of another package may raise: then each device answers, or refuses, by itself."""
    respond = OneBit.respond

    def failing(self: OneBit, *given: Any, devices: Sequence[int], **named: Any) -> list[bytes]:
        if any(device % 3 == 0 for device in devices):
            raise RuntimeError("private")
        return respond(self, *given, devices=devices, **named)

    monkeypatch.setattr(OneBit, "respond", failing)
    got = twins().ask(ask_for())
    assert [one is Refusal.UNKNOWN_QUERY for one in got] == [d % 3 == 0 for d in ALL] and len(fresh(got)) == 8


# --- messages, and what they share ------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, population: Population) -> Path:
    enrol(tmp_path / "state", population, policy_of(population), seed=7).close()
    return tmp_path / "state"


def to_one(query: Query, index: int, kind: str = wire.QUERY_TYPE) -> Message:
    return Message(wire.query_content(query), index + 1, kind)


def to_all(query: Query, devices: Sequence[int] = ALL) -> Message:
    content = wire.batch_content(wire.query_content(query), np.array(devices, np.int64))
    return Message(content, max(devices[0], 0) + 1 if devices else 1, wire.REPORTS_TYPE)


def answers(folder: Path, messages: Sequence[Message], batch: int = 512, pool: Any = None) -> list[Any]:
    return [wire.read_reply(reply) for reply in fleet_of(folder, batch=batch, pool=pool).answer(messages)]


def entered(folder: Path) -> list[int]:
    """Return how many attributes of each device stand in the ledger, read by a connection of its own."""
    state = State(folder)
    try:
        return [sum(len(row.parts) for row in state.ledger(device).answers(device)) for device in ALL]
    finally:
        state.close()


def test_devices_of_one_shard_in_rising_order_alone_are_a_batch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enrolment, "SHARD", 8)
    for wrong in ([], [1, 1], [2, 1], [7, 8], [-1, 0], [8, 9]):
        message = Message(to_all(ask_for(), wrong).content, 1, wire.REPORTS_TYPE)
        assert answers(folder, [message]) == [Refusal.UNKNOWN_QUERY]
        if wrong != [8, 9]:
            with pytest.raises(InvalidQuery):
                answer(State(folder), wrong, ask_for())
    monkeypatch.undo()
    assert entered(folder) == [0] * 12


def test_a_node_that_is_one_device_knows_no_question_to_many(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(client_app.STATE, str(folder))
    for node in ({"partition-id": 3, "state-dir": str(folder)}, {"partition-id": 3}):
        context = Context(1, 4, node, RecordDict(), {})  # type: ignore[arg-type]
        assert wire.read_reply(client_app.app(to_all(ask_for()), context)) is Refusal.UNKNOWN_QUERY
    assert entered(folder) == [0] * 12


class Pool:
    """Draws at once, or loses the process that was to draw."""

    workers = 1

    def __init__(self, *, lost: bool) -> None:
        self.lost = lost
        self.drawn = 0

    def submit(self, function: Callable[[DrawTask], Drawn], task: DrawTask) -> Future[Drawn]:
        future: Future[Drawn] = Future()
        self.drawn += 1
        if self.lost:
            future.set_exception(RuntimeError("a worker was killed"))
        else:
            future.set_result(function(task))
        return future


@pytest.mark.parametrize("lost", [False, True])
def test_a_pool_draws_and_the_fleet_commits(
    tmp_path: Path, population: Population, monkeypatch: pytest.MonkeyPatch, lost: bool,
) -> None:  # fmt: skip
    """What a pool draws, or does not, changes no byte; nothing of it is entered before its bytes are here."""
    monkeypatch.setattr(enrolment, "SHARD", 2)
    for name in ("s", "alone"):
        enrol(tmp_path / name, population, policy_of(population), seed=7).close()
    pool, state = Pool(lost=lost), State(tmp_path / "alone")
    got = answers(tmp_path / "s", [to_one(ask_for(), index) for index in ALL], batch=2, pool=pool)
    assert pool.drawn and sorted(got) == [(index, answer(state, [index], ask_for())[0]) for index in ALL]
    release_states()
    assert entered(tmp_path / "s") == [3] * 12


def test_a_batch_that_is_given_up_while_it_is_drawn_enters_nothing(folder: Path) -> None:
    steps = answering(open_state(str(folder), os.getpid()), ALL, ask_for())
    assert isinstance(next(steps), DrawTask)
    steps.close()
    assert entered(folder) == [0] * 12
    assert len(fresh(answer(open_state(str(folder), os.getpid()), ALL, ask_for("second", eps=2.0)))) == 12


class Interrupted(Exception):
    """Error in the middle of a draw."""


class NoPool:
    """A pool that takes no task."""

    workers = 1

    def submit(self, function: Callable[[DrawTask], Drawn], task: DrawTask) -> Future[Drawn]:
        raise Interrupted


def interrupted(task: DrawTask) -> Drawn:
    raise Interrupted


@pytest.mark.parametrize("door", ["alone", "fleet", "pool"])
def test_a_draw_that_fails_frees_the_ledger_though_its_error_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, door: str
) -> None:
    """The error holds the frames, they hold the unfinished answer, and that holds the ledger's transaction."""
    state = State(folder)
    with monkeypatch.context() as patched, pytest.raises(Interrupted) as kept:
        if door != "pool":
            patched.setattr(f"ldpsim.devices.{'device' if door == 'alone' else 'fleet'}.draw", interrupted)
        if door == "alone":
            answer(state, ALL, ask_for())
        else:
            fleet = Fleet(state, pool=NoPool() if door == "pool" else None)
            list(fleet.answer([to_one(ask_for(), index) for index in ALL]))
    assert len(fresh(answer(state, ALL, ask_for("second", eps=2.0)))) == 12
    state.close()
    assert kept.tb is not None
