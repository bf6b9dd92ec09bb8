"""Many devices in one process: the answers of each one alone, one commit a batch, and no report before it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Context, Message, RecordDict

from ldpsim.devices import client_app, fleet, wire
from ldpsim.devices.client_app import open_state
from ldpsim.devices.collector import CollectorKey, generate
from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal, answer, answering
from ldpsim.devices.draw import Drawn, DrawTask
from ldpsim.devices.enrolment import state as enrolment
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.ledger import rows
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.mechanisms import Degree, GroupDegrees, Mechanism, OneBit, RandomizedResponse
from ldpsim.devices.policy.policy import Cap, Policy, policy_for
from ldpsim.devices.query import Ask, InvalidQuery, Query
from ldpsim.devices.report import Report, pack_report
from tests.devices.mechanisms.test_every_mechanism import EXAMPLES, D, N, attribute
from tests.fleets import fleet_of, release_states
from tests.signing import signed

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
def twins(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Twins]:
    monkeypatch.setattr(rows.time, "time", lambda: 1.5)  # a row holds the time, and its seal covers it

    def make(*, people: Population = population, policy: Policy | None = None, **given: Any) -> Twins:
        own = {name: given.pop(name) for name in ("residents", "counted") if name in given}
        return Twins(tmp_path, people, policy or policy_of(people, **given), **own)

    return make


def test_alone_and_together(twins: Callable[..., Twins], ask_for: Callable[..., Query]) -> None:
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


@pytest.mark.parametrize("mechanism", EXAMPLES, ids=lambda m: m.name)
def test_every_mechanism_alone_and_together(
    twins: Callable[..., Twins], people: Callable[..., Population], mechanism: Mechanism
) -> None:
    population = people(N, D)
    asked = (Ask(attribute(mechanism), (mechanism,)),)
    needs_grouping = isinstance(mechanism, GroupDegrees) and not mechanism.takes(None)
    plan = ((Ask("adjacency", (Degree.from_epsilon(1.0, n=N),)),), asked) if needs_grouping else (asked,)
    query = Query("every", plan)
    pair = twins(people=population, policy=policy_for([query], population.facts))
    assert len(fresh(pair.ask(query, [0, 3, 8]))) == 3
    assert fresh(pair.ask(query, range(N))) == [d for d in range(N) if d not in (0, 3, 8)]
    if needs_grouping:
        later = query.at_stage(1, tuple(i % 3 for i in range(N)))
        assert len(fresh(pair.ask(later, [1, 2]))) == 2 and len(fresh(pair.ask(later, range(N)))) == N - 2


def test_policies_judge_device_by_device(
    twins: Callable[..., Twins], ask_for: Callable[..., Query], population: Population, tmp_path: Path
) -> None:
    mechanism = RandomizedResponse.from_epsilon(1.0, n=12, reporting="one-end")
    generate(tmp_path / "key")
    key = CollectorKey.load(tmp_path / "key")
    caps = {"adjacency": Cap(1.0, 5.0, 5.0), "label": Cap(9, 9, 9)}
    pair = twins(reporting="one-end", caps=caps, collector=key.public, residents=[0, 1, 4, 5, 6])
    row = Query("first", ((Ask("adjacency", (mechanism,)),),))
    got = pair.ask(signed(key, row, 12, [1, 4, 5, 6, 7]))
    assert fresh(got) == [1, 4, 5] and got[6] is Refusal.POLICY_REFUSED and got[0] is Refusal.COLLECTOR_REFUSED
    assert {got[d] for d in ALL if d not in (0, 1, 4, 5, 6)} == {Refusal.LEDGER_DAMAGED}  # they do not live here
    assert pair.ask(signed(key, row, 12), [11, 12, 500]) == [Refusal.LEDGER_DAMAGED] * 3


def test_a_mechanism_that_fails_for_some(
    twins: Callable[..., Twins], ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch
) -> None:
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
def folder(tmp_path: Path, population: Population, policy_of: Callable[..., Policy]) -> Path:
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


@pytest.mark.parametrize("batch", [1, 5, 12, 512])
def test_no_reply_leaves_before_its_batch_is_committed(folder: Path, ask_for: Callable[..., Query], batch: int) -> None:
    """Seen by another connection at the moment each reply comes out."""
    witness = Ledger(folder / "ledger.sqlite")
    asked: list[int] = []

    def messages() -> Iterator[Message]:
        for index in ALL:
            asked.append(index)
            yield to_one(ask_for(), index)

    replies = fleet_of(folder, batch=batch).answer(messages())
    for index in ALL:
        reply = wire.read_reply(next(replies))
        (row,) = witness.answers(index)
        assert reply == (index, Report(pack_report(tuple(part.report for part in row.parts)), replayed=False))
        assert max(asked) == min(index // batch * batch + batch - 1, 11)  # the next batch was not even begun
        assert len(witness.answers()) == max(asked) + 1


def test_the_reply_for_all_is_made_after_the_commit(
    folder: Path, ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch
) -> None:
    witness, built, make = Ledger(folder / "ledger.sqlite"), [], fleet.batch_reply

    def seen(*given: Any) -> Message:
        built.append(len(witness.answers()))
        return make(*given)

    monkeypatch.setattr(fleet, "batch_reply", seen)
    (reply,) = fleet_of(folder).answer([to_all(ask_for())])
    assert fresh(wire.read_batch_reply(reply, 12) or []) == list(ALL) and built == [12]


@contextmanager
def denied(ledger: Ledger, what: str) -> Iterator[None]:
    """Let SQLite itself refuse COMMIT or BEGIN, or find no room for the row of device 7."""

    def authorize(action: int, first: str | None, *_: object) -> int:
        refused = action == sqlite3.SQLITE_TRANSACTION and first == what
        return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK

    if what in ("COMMIT", "BEGIN"):
        ledger._db.set_authorizer(authorize)
        yield
        ledger._db.set_authorizer(None)
    else:
        ledger._db.execute(f"CREATE TEMP TRIGGER t AFTER INSERT ON answer WHEN NEW.device = 7 BEGIN {what}; END")
        yield
        ledger._db.execute("DROP TRIGGER t")


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize(
    "what",
    ["COMMIT", "BEGIN", "SELECT RAISE(ROLLBACK, 'full')", "SELECT RAISE(FAIL, 'disk')", "DELETE FROM answer",
     "UPDATE answer SET collection = 'x' WHERE device = NEW.device"],
)  # fmt: skip
def test_a_batch_that_cannot_be_entered_reports_nothing(
    folder: Path, ask_for: Callable[..., Query], what: str, together: bool
) -> None:
    answers(folder, [to_one(ask_for(), 0)])
    messages = [to_one(ask_for(), index) for index in ALL]
    with denied(open_state(str(folder), os.getpid()).ledger(0), what):
        if together:
            (reply,) = fleet_of(folder).answer([to_all(ask_for())])
            got: Any = wire.read_batch_reply(reply, 12)
        else:
            got = answers(folder, messages)
        assert got == [Refusal.LEDGER_DAMAGED] * 12  # also who would only have repeated itself
    assert entered(folder) == [3] + [0] * 11
    assert [one[1].replayed for one in answers(folder, messages)] == [True] + [False] * 11


def test_devices_of_one_shard_in_rising_order_alone_are_a_batch(
    folder: Path, ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enrolment, "SHARD", 8)
    for wrong in ([], [1, 1], [2, 1], [7, 8], [-1, 0], [8, 9]):
        message = Message(to_all(ask_for(), wrong).content, 1, wire.REPORTS_TYPE)
        assert answers(folder, [message]) == [Refusal.UNKNOWN_QUERY]
        if wrong != [8, 9]:
            with pytest.raises(InvalidQuery):
                answer(State(folder), wrong, ask_for())
    monkeypatch.undo()
    assert entered(folder) == [0] * 12


def test_a_node_that_is_one_device_knows_no_question_to_many(
    folder: Path, ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(client_app.STATE, str(folder))
    for node in ({"partition-id": 3, "state-dir": str(folder)}, {"partition-id": 3}):
        context = Context(1, 4, node, RecordDict(), {})  # type: ignore[arg-type]
        assert wire.read_reply(client_app.app(to_all(ask_for()), context)) is Refusal.UNKNOWN_QUERY
    assert entered(folder) == [0] * 12


def test_an_interrupt_in_a_batch_releases_nothing(
    folder: Path, ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "enter", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            answers(folder, [to_one(ask_for(), index) for index in ALL])
    assert entered(folder) == [0] * 12
    assert all(isinstance(one, tuple) for one in answers(folder, [to_one(ask_for(), index) for index in ALL]))


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
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query],
    monkeypatch: pytest.MonkeyPatch, lost: bool,
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


def test_a_batch_that_is_given_up_while_it_is_drawn_enters_nothing(folder: Path, ask_for: Callable[..., Query]) -> None:
    steps = answering(open_state(str(folder), os.getpid()), ALL, ask_for())
    assert isinstance(next(steps), DrawTask)
    steps.close()
    assert entered(folder) == [0] * 12
    assert len(fresh(answer(open_state(str(folder), os.getpid()), ALL, ask_for("second", eps=2.0)))) == 12


class Late(Future[Drawn]):
    """A draw that ends when somebody waits for it, and not before."""

    def __init__(self, work: Callable[[], Drawn]) -> None:
        super().__init__()
        self._work = work

    def done(self) -> bool:
        return False

    def result(self, timeout: float | None = None) -> Drawn:
        return self._work()


class LatePool:
    """A pool that is slower than the fleet."""

    workers = 1

    def submit(self, function: Callable[[DrawTask], Drawn], task: DrawTask) -> Future[Drawn]:
        return Late(lambda: function(task))


def test_a_ledger_with_an_open_batch_stays_open(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The fleet goes on with other shards while a pool draws. It closed the ledgers of waiting batches before."""
    monkeypatch.setattr(enrolment, "SHARD", 1)
    monkeypatch.setattr(fleet, "MOST_OPEN", 5)
    enrol(tmp_path / "s", population, policy_of(population), seed=7).close()
    got = answers(tmp_path / "s", [to_one(ask_for(), index) for index in ALL], batch=1, pool=LatePool())
    assert len(got) == 12 and all(isinstance(one, Report) and not one.replayed for _, one in got)
    release_states()
    assert entered(tmp_path / "s") == [3] * 12
