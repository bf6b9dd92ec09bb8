"""The counter kept apart: what it notices that a ledger cannot notice by itself, in both of its places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from ldpsim.devices import wire
from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.counters import counter_of
from ldpsim.devices.enrolment.state import COUNTED, State, enrol
from ldpsim.devices.ledger.counter import Counter, CounterCheck, CounterMismatch, Entry
from ldpsim.devices.ledger.rows import Answer, Head, LedgerDamaged, head_of
from ldpsim.devices.query import Query
from ldpsim.devices.report import Report
from tests.devices.conftest import ask_for, policy_of
from tests.fleets import fleet_of

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

    def close(self) -> None:
        """Nothing is open."""


def chain_of(*seals: bytes) -> Callable[[], list[Answer]]:
    rows = [Answer(3, at, "report", "c", b"", seal) for at, seal in enumerate(seals)]
    return lambda: rows


ONE, TWO, OTHER = Head(1, b"a"), Head(2, b"b"), Head(1, b"x")


@pytest.mark.parametrize(("counted", "seals", "agrees"), [
    (Head(), (), True), (ONE, (b"a",), True), (TWO, (b"a", b"b"), True),  # they end together
    (Head(), (b"a",), True), (Head(), (b"a", b"b"), True), (ONE, (b"a", b"b"), True),  # the ledger goes on
    (ONE, (), False), (TWO, (b"a",), False), (TWO, (), False),  # the ledger is an old one
    (OTHER, (b"a",), False), (OTHER, (b"a", b"b"), False), (TWO, (b"a", b"x"), False),  # another copy's answer
    (Head(0, b"a"), (), False), (Head(0, b"a"), (b"a",), False),  # no state of a counter
])  # fmt: skip
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


# --- both places ---------------------------------------------------------------------------


# --- a folder of devices ----------------------------------------------------------------------


@pytest.fixture
def counted(place: str, tmp_path: Path, population: Population) -> State:
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


def test_answers_are_counted_before_a_reply_leaves(counted: State) -> None:
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


def test_a_counter_that_cannot_be_advanced_holds_the_reply_back(
    counted: State, monkeypatch: pytest.MonkeyPatch
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


def test_equal_data_are_not_visible_where_a_counter_is(tmp_path: Path, population: Population) -> None:
    """The noise is bound to a number that the counter holds; without one it depends on data and question alone."""

    def report(name: str, counters: Path | None) -> bytes:
        given = enrol(tmp_path / name, population, policy_of(population), seed=7, counters=counters)
        said = given.device(3).answer(ask_for())
        assert isinstance(said, Report)
        return said.data

    assert report("one", None) == report("two", None)
    bound = [report("three", tmp_path / "a"), report("four", tmp_path / "a"), report("five", tmp_path / "b")]
    assert len({report("six", None), *bound}) == 4
