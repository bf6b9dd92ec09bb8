"""The counter kept apart: what it notices that a ledger cannot notice by itself, in both of its places."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ldpsim.devices import wire
from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.device import answer as answer_batch
from ldpsim.devices.enrolment.counters import counter_of
from ldpsim.devices.enrolment.state import COUNTED, State, enrol
from ldpsim.devices.ledger.chain import seals
from ldpsim.devices.ledger.counter import Counter, CounterCheck, CounterMismatch, Entry
from ldpsim.devices.ledger.counter_folder import FolderCounter
from ldpsim.devices.ledger.counter_postgres import PostgresCounter
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.ledger.rows import Answer, Head, LedgerDamaged, head_of
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.query import Query
from ldpsim.devices.report import Report
from tests.fleets import fleet_of, release_states

NONCE = b"n" * 32

# --- the comparison -------------------------------------------------------------------------


class Memory:
    """A counter in memory; ``before`` happens just before it is advanced, as another process may do."""

    def __init__(self, **heads: Head) -> None:
        self.heads = {int(name[1:]): head for name, head in heads.items()}
        self.before: list[Callable[[], None]] = []

    def entries(self, devices: Iterable[int]) -> dict[int, Entry]:
        return {device: Entry(self.heads[device], NONCE) for device in devices if device in self.heads}

    def advance(self, changes: Mapping[int, tuple[Head, Head]]) -> dict[int, Head]:
        if self.before:
            self.before.pop()()
        left = {device: self.heads[device] for device, change in changes.items() if self.heads[device] not in change}
        self.heads.update({device: new for device, (_, new) in changes.items() if device not in left})
        return left


def chain_of(*seals: bytes) -> Callable[[], list[Answer]]:
    rows = [Answer(3, at, "report", "c", b"", seal) for at, seal in enumerate(seals)]
    return lambda: rows


ONE, TWO, OTHER = Head(1, b"a"), Head(2, b"b"), Head(1, b"x")


@pytest.mark.parametrize(
    ("counted", "seals", "agrees"),
    [
        (Head(), (), True), (ONE, (b"a",), True), (TWO, (b"a", b"b"), True),  # they end together
        (Head(), (b"a",), True), (Head(), (b"a", b"b"), True), (ONE, (b"a", b"b"), True),  # the ledger goes on
        (ONE, (), False), (TWO, (b"a",), False), (TWO, (), False),  # the ledger is an old one
        (OTHER, (b"a",), False), (OTHER, (b"a", b"b"), False), (TWO, (b"a", b"x"), False),  # another copy's answer
        (Head(0, b"a"), (), False), (Head(0, b"a"), (b"a",), False),  # no state of a counter
    ],
)  # fmt: skip
def test_the_table_of_states(counted: Head, seals: tuple[bytes, ...], agrees: bool) -> None:
    counter = Memory(d3=counted)
    comparison = CounterCheck(counter)
    end = Head(len(seals), seals[-1]) if seals else Head()
    if not agrees:
        with pytest.raises(CounterMismatch) as found:
            comparison.compare(3, end, chain_of(*seals))
        assert found.value.devices == {3}
        comparison.settle()
        assert counter.heads == {3: counted}
        return
    comparison.compare(3, end, chain_of(*seals))
    comparison.settle()
    assert counter.heads == {3: end}


def test_a_device_that_the_counter_does_not_know() -> None:
    comparison = CounterCheck(Memory(d3=Head()), [3, 4])
    assert comparison.entry(3).nonce == NONCE
    with pytest.raises(LedgerDamaged, match="does not know"):
        comparison.compare(4, Head(), chain_of())


def test_another_copy_was_quicker() -> None:
    """One of three devices lost; the others are advanced, and the exception names the one."""
    counter = Memory(d1=Head(), d2=Head(), d3=Head())
    comparison = CounterCheck(counter, [1, 2, 3])
    for device in (1, 2, 3):
        comparison.compare(device, Head(), chain_of())
        comparison.end(device, ONE, chain_of(b"a"))
    counter.before.append(lambda: counter.heads.update({2: OTHER}))
    with pytest.raises(CounterMismatch) as found:
        comparison.settle()
    assert found.value.devices == {2} and counter.heads == {1: ONE, 2: OTHER, 3: ONE}


@pytest.mark.parametrize(("other", "seals"), [(ONE, (b"a", b"b")), (TWO, (b"a", b"b")), (Head(3, b"c"), b"abc")])
def test_another_process_of_the_same_ledger_was_quicker(other: Head, seals: Iterable[bytes]) -> None:
    """It advanced the counter part of the way, as far, or further: the answer may leave."""
    chain = chain_of(*(bytes([seal]) if isinstance(seal, int) else seal for seal in seals))
    counter = Memory(d3=Head())
    comparison = CounterCheck(counter)
    comparison.compare(3, Head(), chain)
    comparison.end(3, TWO, chain)
    counter.before.append(lambda: counter.heads.update({3: other}))
    comparison.settle()
    assert counter.heads[3] == (other if other.answers > 2 else TWO)


def test_a_chain_that_broke_meanwhile_is_not_ours() -> None:
    """A row with the other copy's seal, planted in this ledger at the last moment, does not help."""

    def broken() -> list[Answer]:
        raise LedgerDamaged("answer 1 does not carry its seal")

    for chain in (broken, chain_of(b"x", b"b"), chain_of(b"a")):
        counter = Memory(d3=Head())
        comparison = CounterCheck(counter)
        comparison.compare(3, Head(), chain)
        comparison.end(3, ONE, chain)
        counter.before.append(lambda counter=counter: counter.heads.update({3: TWO}))  # type: ignore[misc]
        with pytest.raises(CounterMismatch):
            comparison.settle()


# --- both places ---------------------------------------------------------------------------


def test_it_is_advanced_from_the_expected_head_alone(place: str) -> None:
    made = FolderCounter(Path(place) / "c.count") if place.startswith("/") else PostgresCounter(place, uuid4().hex)
    made.create({device: Entry(Head(), NONCE) for device in range(8)})
    one, two, other = (replace(head, seal=head.seal * 32) for head in (ONE, TWO, OTHER))
    assert made.advance({1: (Head(), one), 2: (Head(), other)}) == {}
    assert made.advance({1: (Head(), one)}) == {}  # the same step again: a retry after a lost answer
    assert made.advance({1: (Head(), other), 2: (one, two), 3: (Head(), one)}) == {1: one, 2: other}
    assert made.advance({1: (one, two), 4: (two, one)}) == {4: Head()}
    assert [made.entries([device])[device] for device in (1, 2, 3, 4)] == [
        Entry(head, NONCE) for head in (two, other, one, Head())
    ]
    with pytest.raises(OSError, match="not know"):
        made.advance({5: (Head(), one), 9: (Head(), one)})
    assert made.entries([5])[5].head == Head()  # a step is whole or not there


# --- a folder of devices ----------------------------------------------------------------------


@pytest.fixture
def counted(place: str, tmp_path: Path, population: Population, policy_of: Callable[..., Policy]) -> State:
    return enrol(tmp_path / "state", population, policy_of(population), seed=7, counters=place)


def counter(state: State) -> Counter:
    return counter_of(state.head["counters"], 0)


def heads(state: State) -> list[int]:
    entries = counter(state).entries(range(12))
    assert all(entry.head == head_of(state.ledger(device).answers(device)) for device, entry in entries.items())
    return [entries[device].head.answers for device in range(12)]


def answer(state: State, query: Query | bytes, index: int = 3) -> Report | Refusal:
    try:
        return state.device(index).answer(query)
    except LedgerDamaged:
        return Refusal.LEDGER_DAMAGED


def test_answers_are_counted_before_a_reply_leaves(counted: State, ask_for: Callable[..., Query]) -> None:
    assert counted.head["format"] == COUNTED and heads(counted) == [0] * 12
    for number, letters in enumerate(("a", "f", "l"), 1):
        assert isinstance(answer(counted, ask_for(attributes=letters)), Report)
        assert heads(counted)[3] == number
    assert answer(counted, ask_for("second")) is Refusal.REPORT_COLLECTED
    assert heads(counted)[3] == 3
    seen: list[int] = []
    messages = [wire.Message(wire.query_content(ask_for()), i + 1, wire.QUERY_TYPE) for i in (0, 1)]
    for _ in fleet_of(counted.folder).answer(messages):
        seen.append(sum(heads(counted)))
    assert seen == [5, 5]


def edit(folder: Path, *statements: str) -> None:
    with sqlite3.connect(folder / "ledger.sqlite") as db:
        for statement in statements:
            db.execute(statement)
    db.close()


def lose_ledger(folder: Path, backup: Path) -> None:
    for path in folder.glob("ledger.sqlite*"):
        path.unlink()


def put_back(folder: Path, backup: Path) -> None:
    lose_ledger(folder, backup)
    shutil.copy(backup, folder / "ledger.sqlite")


def make_anew(folder: Path, backup: Path) -> None:
    lose_ledger(folder, backup)
    Ledger.create(folder / "ledger.sqlite").close()


def lose_a_row(folder: Path, backup: Path) -> None:
    edit(folder, "DELETE FROM answer WHERE device = 3")


def replace_a_row(folder: Path, backup: Path) -> None:
    """The number of rows stays: the row of device 3 is deleted, one without a seal is put in for nobody."""
    lose_a_row(folder, backup)
    edit(folder, "INSERT INTO answer VALUES (1000000000, 0, 'report', 'c', x'', x'')")


def move_a_row(folder: Path, backup: Path) -> None:
    edit(folder, "UPDATE answer SET device = 1000000000 WHERE device = 3")


FAULTS = [lose_ledger, put_back, make_anew, lose_a_row, replace_a_row, move_a_row]


@pytest.mark.parametrize("fault", FAULTS)
def test_an_old_ledger_answers_nothing(
    counted: State, ask_for: Callable[..., Query], tmp_path: Path, fault: Callable[[Path, Path], None]
) -> None:
    """Neither to the question of before, on the same data or on others, nor to anything else."""
    answer(counted, ask_for(), 5)
    counted.close()
    shutil.copy(counted.folder / "ledger.sqlite", tmp_path / "backup")
    first = answer(counted, ask_for())
    assert isinstance(first, Report)
    counted.close()
    good = (counted.folder / "ledger.sqlite").read_bytes()
    fault(counted.folder, tmp_path / "backup")
    expected = Refusal.LEDGER_DAMAGED if fault is lose_ledger else Refusal.COUNTER_MISMATCH
    for question in (ask_for(), ask_for("second"), ask_for(eps=0.5), b"", b"malformed"):
        state = State(counted.folder)
        assert answer(state, question) is expected
        said = fleet_of(counted.folder).answer(
            [wire.Message(wire.query_content(ask_for()), i + 1, wire.QUERY_TYPE) for i in (3, 5)]
        )
        told = [wire.read_reply(reply) for reply in said]
        assert expected in told
        if fault in (put_back, lose_a_row, replace_a_row, move_a_row):  # the other devices go on
            assert any(isinstance(read, tuple) and read[0] == 5 and read[1].replayed for read in told)
        state.close()
    if fault is lose_ledger:
        assert not (counted.folder / "ledger.sqlite").exists()  # nothing is put in its place
    release_states()
    for path in counted.folder.glob("ledger.sqlite*"):
        path.unlink()
    (counted.folder / "ledger.sqlite").write_bytes(good)
    assert answer(State(counted.folder), ask_for()) == Report(first.data, replayed=True)


def test_two_copies_that_reach_one_counter(counted: State, ask_for: Callable[..., Query], tmp_path: Path) -> None:
    """The one that answers first goes on; each device of the other is stopped by itself."""
    counted.close()
    copy = State(Path(shutil.copytree(counted.folder, tmp_path / "copy")))
    assert isinstance(answer(counted, ask_for()), Report)
    assert answer(copy, ask_for(eps=0.5)) is Refusal.COUNTER_MISMATCH
    assert answer(copy, ask_for()) is Refusal.COUNTER_MISMATCH  # also the same question: data may have changed since
    assert isinstance(answer(copy, ask_for(eps=0.5), 8), Report)
    assert answer(counted, ask_for(), 8) is Refusal.COUNTER_MISMATCH
    assert isinstance(answer(counted, ask_for(), 9), Report)


def test_the_row_of_a_copy_that_lost_is_no_answer(
    counted: State, ask_for: Callable[..., Query], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both committed before one of them advanced the counter."""
    counted.close()
    copy = State(Path(shutil.copytree(counted.folder, tmp_path / "copy")))
    enter, first = copy.ledger().enter, []

    def entering(*rows: Any) -> None:
        enter(*rows)
        first.append(answer(counted, ask_for()))

    monkeypatch.setattr(copy.ledger(), "enter", entering)
    lost, won = answer_batch(copy, (3, 4), ask_for(eps=0.5))
    assert isinstance(first[0], Report) and lost is Refusal.COUNTER_MISMATCH and isinstance(won, Report)
    monkeypatch.undo()
    assert answer(copy, ask_for(eps=0.5)) is Refusal.COUNTER_MISMATCH
    assert answer(copy, ask_for(eps=0.5), 4).replayed and answer(counted, ask_for()).replayed  # type: ignore[union-attr]


def test_without_its_counter_a_device_says_nothing(counted: State, ask_for: Callable[..., Query]) -> None:
    unknown = {**counted.head["counters"], "name": "0" * 32}
    counted.__dict__["head"] = {**counted.head, "counters": unknown}
    assert answer(counted, ask_for()) is answer(counted, b"malformed") is Refusal.LEDGER_DAMAGED
    assert counted.ledger(3).answers(3) == []


class PowerLoss(BaseException):
    """The process dies at this point."""


@pytest.mark.parametrize("batch", [False, True])
def test_a_crash_between_commit_and_counter(
    counted: State, ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch, batch: bool
) -> None:
    """The ledger is ahead, the retry gets the stored bytes, and before they leave the counter has caught up."""

    def crash(*_: object) -> None:
        raise PowerLoss

    with monkeypatch.context() as patch:
        patch.setattr(type(counter(counted)), "advance", crash)
        with pytest.raises(PowerLoss):
            answer_batch(counted, (3, 4) if batch else (3,), ask_for(attributes="a"))
    counted.close()
    state = State(counted.folder)
    assert counter(state).entries([3])[3].head == Head()
    assert len(state.ledger().answers()) == (2 if batch else 1)
    assert answer(state, ask_for(eps=0.5, attributes="a")) is Refusal.REPORT_COLLECTED
    again = answer(state, ask_for(attributes="a"))
    assert isinstance(again, Report) and again.replayed
    assert counter(state).entries([3])[3].head == head_of(state.ledger(3).answers(3))


def test_a_counter_that_cannot_be_advanced_holds_the_reply_back(
    counted: State, ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(type(counter(counted)), "advance", full)
        assert answer(counted, ask_for()) is Refusal.LEDGER_DAMAGED
        messages = [wire.Message(wire.query_content(ask_for()), i + 1, wire.QUERY_TYPE) for i in range(4)]
        assert {wire.read_reply(r) for r in fleet_of(counted.folder).answer(messages)} == {Refusal.LEDGER_DAMAGED}
    again = answer(counted, ask_for())
    assert isinstance(again, Report) and again.replayed


def test_equal_data_are_not_visible_where_a_counter_is(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    """The noise is bound to a number that the counter holds; without one it depends on data and question alone."""

    def report(name: str, counters: Path | None) -> bytes:
        given = enrol(tmp_path / name, population, policy_of(population), seed=7, counters=counters)
        said = given.device(3).answer(ask_for())
        assert isinstance(said, Report)
        return said.data

    assert report("one", None) == report("two", None)
    bound = [report("three", tmp_path / "a"), report("four", tmp_path / "a"), report("five", tmp_path / "b")]
    assert len({report("six", None), *bound}) == 4


def test_a_seal_of_the_ledger_is_the_counter_s(counted: State, ask_for: Callable[..., Query]) -> None:
    answer(counted, ask_for(attributes="a"))
    answer(counted, ask_for(attributes="f"))
    rows = counted.ledger(3).answers(3)
    held = counter(counted).entries([3])[3]
    assert held.head == Head(2, seals(rows[1:], [rows[0].seal], [counted.seal_key(3)])[0]) == head_of(rows)
    assert len(held.nonce) == 32 and held.nonce != counter(counted).entries([4])[4].nonce
