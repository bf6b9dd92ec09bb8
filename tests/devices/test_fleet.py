"""Many devices in one process: one commit a batch, and no report before it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Message, RecordDict

from ldpsim.devices import answer_many, fleet, wire
from ldpsim.devices.client_app import open_state
from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal, Report
from ldpsim.devices.enrolment import state as enrolment
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.fleet import Fleet
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.query import Query


@pytest.fixture
def folder(tmp_path: Path, population: Population, policy_of: Callable[..., Policy]) -> Path:
    enrol(tmp_path / "state", population, policy_of(population), seed=7).close()
    return tmp_path / "state"


def message(query: Query, index: int, kind: str = wire.QUERY_TYPE) -> Message:
    return Message(wire.query_content(query), index + 1, kind)


def answers(folder: Path, messages: list[Message], batch: int = 512) -> list[Any]:
    return [wire.read_reply(reply) for reply in Fleet(folder, batch=batch).answer(messages)]


def rows(folder: Path, index: int) -> int:
    return sum(len(answer.parts) for answer in State(folder).ledger(index).answers(index))


@pytest.mark.parametrize("batch", [1, 2, 5, 12, 512])
def test_batches_of_any_size_give_the_same_reports(
    folder: Path, population: Population, policy_of: Callable[..., Policy], tmp_path: Path,
    ask_for: Callable[..., Query], batch: int,
) -> None:  # fmt: skip
    got = answers(folder, [message(ask_for(), i) for i in range(12)], batch)
    alone = enrol(tmp_path / "alone", population, policy_of(population), seed=7)
    assert got == [(i, alone.device(i).answer(ask_for())) for i in range(12)]


def test_no_reply_leaves_before_its_batch_is_committed(folder: Path, ask_for: Callable[..., Query]) -> None:
    """Seen by another connection at the moment each reply comes out."""
    witness = Ledger(folder / "ledger.sqlite")
    asked: list[int] = []

    def messages() -> Any:
        for index in range(12):
            asked.append(index)
            yield message(ask_for(), index)

    replies = Fleet(folder, batch=5).answer(messages())
    for index in range(12):
        reply = next(replies)
        assert wire.read_reply(reply)[0] == index  # type: ignore[index]
        assert len(witness.answers(index)) == 1
        assert max(asked) == min(index // 5 * 5 + 4, 11)  # the next batch was not even begun
        assert sum(len(witness.answers(i)) for i in range(12)) == max(asked) + 1


@pytest.mark.parametrize("kind", [wire.QUERY_TYPE])
def test_two_messages_to_one_device_in_one_batch(folder: Path, ask_for: Callable[..., Query], kind: str) -> None:
    same = [message(ask_for(), 3), message(ask_for(), 4), message(ask_for(), 3), message(ask_for(), 3)]
    first, _, second, third = answers(folder, same)
    assert not first[1].replayed and second[1].replayed and third[1].replayed
    assert first[1].data == second[1].data == third[1].data and rows(folder, 3) == 3


def test_two_questions_to_one_device_in_one_batch(folder: Path, ask_for: Callable[..., Query]) -> None:
    asked = [ask_for(attributes="a"), ask_for("second", attributes="a"), ask_for(eps=2.0), ask_for(attributes="l")]
    got = answers(folder, [message(query, 3) for query in asked])
    assert isinstance(got[0], tuple) and got[1] is got[2] is Refusal.REPORT_COLLECTED
    assert isinstance(got[3], tuple) and not got[3][1].replayed and rows(folder, 3) == 2


def deny(ledger: Ledger, what: str) -> None:
    """Make SQLite itself refuse COMMIT."""

    def authorize(action: int, first: str | None, *_: object) -> int:
        refused = action == sqlite3.SQLITE_TRANSACTION and first == what
        return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK

    ledger._db.set_authorizer(authorize)


@pytest.mark.parametrize("what", ["COMMIT", "BEGIN"])
def test_a_batch_that_cannot_be_committed_reports_nothing(
    folder: Path, ask_for: Callable[..., Query], what: str
) -> None:
    answers(folder, [message(ask_for(), 0)])
    ledger = open_state(str(folder), os.getpid()).ledger(0)
    deny(ledger, what)
    got = answers(folder, [message(ask_for(), i) for i in range(12)])
    assert got == [Refusal.LEDGER_DAMAGED] * 12  # also who would only have repeated itself
    ledger._db.set_authorizer(None)
    assert [rows(folder, i) for i in range(12)] == [3] + [0] * 11
    again = answers(folder, [message(ask_for(), i) for i in range(12)])
    assert [a[1].replayed for a in again] == [True] + [False] * 11


def test_a_disk_that_fills_up_in_the_middle_of_a_batch(folder: Path, ask_for: Callable[..., Query]) -> None:
    db = open_state(str(folder), os.getpid()).ledger(0)._db
    db.execute("CREATE TEMP TRIGGER t BEFORE INSERT ON query_answer WHEN NEW.device = 7 "
               "BEGIN SELECT RAISE(ROLLBACK, 'full'); END")  # fmt: skip
    got = answers(folder, [message(ask_for(), i) for i in range(12)], batch=6)
    assert [isinstance(a, tuple) for a in got] == [True] * 6 + [False] * 6
    assert got[6:] == [Refusal.LEDGER_DAMAGED] * 6
    db.execute("DROP TRIGGER t")
    assert [rows(folder, i) for i in range(12)] == [3] * 6 + [0] * 6
    assert all(isinstance(a, tuple) for a in answers(folder, [message(ask_for(), i) for i in range(12)]))


def test_one_damaged_device_does_not_harm_the_batch(folder: Path, ask_for: Callable[..., Query]) -> None:
    answers(folder, [message(ask_for(), 5)])
    open_state(str(folder), os.getpid()).ledger(5)._db.execute("UPDATE query_answer SET seal = x''")
    got = answers(folder, [message(ask_for(), i) for i in range(12)])
    assert got[5] is Refusal.LEDGER_DAMAGED
    assert all(isinstance(a, tuple) and not a[1].replayed for i, a in enumerate(got) if i != 5)


def test_hostile_messages_beside_honest_ones(folder: Path, ask_for: Callable[..., Query]) -> None:
    mixed = [
        message(ask_for(), 0), Message(RecordDict({}), 2, "train"), Message(RecordDict({}), 3, wire.QUERY_TYPE),
        message(ask_for(), 99), message(ask_for(), 4), message(ask_for(n=5), 5), message(ask_for(), 6, "query.other"),
        Message(RecordDict({}), 8, "evaluate"), message(ask_for(), -1),
    ]  # fmt: skip
    replies = list(Fleet(folder).answer(mixed))
    got = {r.metadata.src_node_id - 1: wire.read_reply(r) for r in replies}
    assert len(replies) == len(mixed)
    assert {i: a for i, a in got.items() if not isinstance(a, tuple)} == {
        1: Refusal.MODE_REFUSED, 2: Refusal.UNKNOWN_QUERY, 99: Refusal.LEDGER_DAMAGED, 5: Refusal.POLICY_REFUSED,
        6: Refusal.UNKNOWN_QUERY, 7: Refusal.MODE_REFUSED, -1: Refusal.LEDGER_DAMAGED,
    }  # fmt: skip
    assert {i for i, a in got.items() if isinstance(a, tuple)} == {0, 4}


def test_devices_of_several_ledger_files(
    tmp_path: Path, people: Callable[..., Population], policy_of: Callable[..., Policy],
    ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for module in (enrolment, fleet):
        monkeypatch.setattr(module, "SHARD", 5)
    population = people(n=12)
    enrol(tmp_path / "s", population, policy_of(population), seed=7).close()
    assert len(list((tmp_path / "s").glob("ledger*.sqlite"))) == 3
    order = [11, 0, 5, 4, 9, 10, 1, 6, 2, 7, 3, 8]
    replies = list(Fleet(tmp_path / "s", batch=4).answer([message(ask_for(), i) for i in order]))
    assert sorted(r.metadata.src_node_id - 1 for r in replies) == list(range(12))
    assert all(wire.read_reply(r)[0] == r.metadata.src_node_id - 1 for r in replies)  # type: ignore[index]
    deny(open_state(str(tmp_path / "s"), os.getpid()).ledger(5), "COMMIT")
    got = answers(tmp_path / "s", [message(ask_for(), i) for i in range(12)])
    assert [isinstance(a, tuple) for a in got] == [True] * 5 + [False] * 5 + [True] * 2


def test_a_folder_that_is_no_state_answers_so(tmp_path: Path, ask_for: Callable[..., Query]) -> None:
    assert answers(tmp_path / "nothing", [message(ask_for(), 0)]) == [Refusal.LEDGER_DAMAGED]


def test_an_interrupt_in_a_batch_releases_nothing(
    folder: Path, ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch
) -> None:
    def messages() -> Any:
        yield from (message(ask_for(), i) for i in range(4))

    calls = []
    real = Ledger.enter

    def enter(*arguments: Any, **named: Any) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        real(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "enter", enter)
        with pytest.raises(KeyboardInterrupt):
            list(Fleet(folder).answer(messages()))
    assert [rows(folder, i) for i in range(4)] == [0] * 4
    assert all(isinstance(a, tuple) and isinstance(a[1], Report) for a in answers(folder, list(messages())))


@pytest.mark.parametrize("kind", ["train", "evaluate", "query.exchange", "query.other"])
def test_what_comes_first_in_a_batch_decides_nothing_for_the_others(
    folder: Path, ask_for: Callable[..., Query], kind: str
) -> None:
    """A model, even one for a device that is not there, before honest questions: they are answered as ever."""
    mixed = [Message(RecordDict({}), 1, kind), message(ask_for(), 1), Message(RecordDict({}), 100, kind)]
    got = {r.metadata.src_node_id - 1: wire.read_reply(r) for r in Fleet(folder).answer(mixed)}
    assert isinstance(got[0], Refusal) and got[99] is Refusal.LEDGER_DAMAGED
    assert isinstance(got[1], tuple) and not got[1][1].replayed


@pytest.mark.parametrize("together", [True, False])
def test_few_ledgers_are_open_at_a_time(
    tmp_path: Path, people: Callable[..., Population], policy_of: Callable[..., Policy],
    ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch, together: bool,
) -> None:  # fmt: skip
    for module in (enrolment, fleet, answer_many):
        monkeypatch.setattr(module, "SHARD", 2)
    monkeypatch.setattr(fleet, "MOST_OPEN", 3)
    population = people()
    enrol(tmp_path / "s", population, policy_of(population), seed=7).close()
    content = wire.query_content(ask_for())
    if together:
        batches = [np.arange(first, first + 2) for first in range(0, 12, 2)]
        asked = [Message(wire.batch_content(content, b), int(b[0]) + 1, wire.REPORTS_TYPE) for b in batches]
    else:
        asked = [message(ask_for(), index) for index in range(12)]
    for _ in Fleet(tmp_path / "s", batch=2).answer(asked):
        assert len(open_state(str(tmp_path / "s"), os.getpid())._ledgers) <= 3
    assert [rows(tmp_path / "s", index) for index in range(12)] == [3] * 12
    assert all(a[1].replayed for a in answers(tmp_path / "s", [message(ask_for(), index) for index in range(12)]))
