"""The counter kept apart: what it notices that a ledger cannot notice by itself."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from devices import wire
from devices.data.population import Population
from devices.device import Refusal, Report
from devices.enrolment.state import COUNTED, State, enrol
from devices.fleet import Fleet
from devices.ledger.counter import FileCounter
from devices.ledger.ledger import Ledger, LedgerDamaged
from devices.policy.policy import Policy
from devices.query import Query


@pytest.fixture
def counted(tmp_path: Path, population: Population, policy_of: Callable[..., Policy]) -> State:
    return enrol(tmp_path / "state", population, policy_of(population), seed=7, counters=tmp_path / "apart")


def count(state: State) -> int:
    (path,) = Path(state.head["counter"]).parent.iterdir()
    return FileCounter(path).read()


def answer(state: State, query: Query, index: int = 3) -> Report | Refusal:
    try:
        return state.device(index).answer(query)
    except LedgerDamaged:
        return Refusal.LEDGER_DAMAGED


def test_a_counter_is_raised_and_never_lowered(tmp_path: Path) -> None:
    counter = FileCounter(tmp_path / "new" / "count")
    with pytest.raises(OSError):
        counter.read()
    counter.create()
    with pytest.raises(FileExistsError):
        counter.create()
    for value, expected in ((0, 0), (3, 3), (2, 3), (1_000_000, 1_000_000), (5, 1_000_000)):
        counter.raise_to(value)
        assert counter.read() == expected
    values = list(range(1_000_001, 1_000_201))
    threads = [threading.Thread(target=lambda part=values[i::4]: [counter.raise_to(v) for v in part]) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.read() == values[-1]


def test_answers_are_counted_before_a_reply_leaves(counted: State, ask_for: Callable[..., Query]) -> None:
    assert counted.head["format"] == COUNTED and count(counted) == 0
    for number, letters in enumerate(("a", "f", "l"), 1):
        assert isinstance(answer(counted, ask_for(attributes=letters)), Report)
        assert count(counted) == number
    assert answer(counted, ask_for("second")) is Refusal.REPORT_COLLECTED
    assert count(counted) == 3
    seen: list[int] = []
    messages = [wire.Message(wire.query_content(ask_for()), i + 1, wire.QUERY_TYPE) for i in (0, 1)]
    for _ in Fleet(counted.folder).answer(messages):
        seen.append(count(counted))
    assert seen == [5, 5]


def lose_ledger(folder: Path, backup: Path) -> None:
    for path in folder.glob("ledger.sqlite*"):
        path.unlink()


def put_back(folder: Path, backup: Path) -> None:
    lose_ledger(folder, backup)
    shutil.copy(backup, folder / "ledger.sqlite")


def lose_a_row(folder: Path, backup: Path) -> None:
    ledger = Ledger(folder / "ledger.sqlite")
    ledger._db.execute("DELETE FROM query_answer WHERE device = 3")
    ledger.close()


@pytest.mark.parametrize("fault", [lose_ledger, put_back, lose_a_row])
def test_an_old_ledger_answers_nothing(
    counted: State, ask_for: Callable[..., Query], tmp_path: Path, fault: Callable[[Path, Path], None]
) -> None:
    answer(counted, ask_for(), 5)
    counted.close()
    shutil.copy(counted.folder / "ledger.sqlite", tmp_path / "backup")
    first = answer(counted, ask_for())
    assert isinstance(first, Report)
    counted.close()
    good = (counted.folder / "ledger.sqlite").read_bytes()
    fault(counted.folder, tmp_path / "backup")
    for index in (3, 5, 7):
        for question in (ask_for(), ask_for("second"), ask_for(eps=0.5)):
            assert answer(State(counted.folder), question, index) is Refusal.LEDGER_DAMAGED
        for question in (b"", b"malformed"):
            assert answer(State(counted.folder), question, index) is Refusal.LEDGER_DAMAGED  # type: ignore[arg-type]
    if fault is lose_ledger:
        assert not (counted.folder / "ledger.sqlite").exists()  # nothing is put in its place
    for path in counted.folder.glob("ledger.sqlite*"):
        path.unlink()
    (counted.folder / "ledger.sqlite").write_bytes(good)
    assert answer(State(counted.folder), ask_for()) == Report(first.data, replayed=True)


def test_a_ledger_swapped_under_a_process_that_serves_it(
    counted: State, ask_for: Callable[..., Query], tmp_path: Path
) -> None:
    """Two copies of one folder that reach one counter: only the one that is ahead goes on."""
    counted.close()
    copy = State(Path(shutil.copytree(counted.folder, tmp_path / "copy")))
    assert isinstance(answer(counted, ask_for()), Report)
    assert answer(copy, ask_for(eps=0.5)) is Refusal.LEDGER_DAMAGED
    assert answer(copy, ask_for(), 8) is Refusal.LEDGER_DAMAGED
    assert isinstance(answer(counted, ask_for(), 8), Report)


@pytest.mark.parametrize("what", ["deleted", "unwritable"])
def test_without_its_counter_a_device_says_nothing(counted: State, ask_for: Callable[..., Query], what: str) -> None:
    (path,) = Path(counted.head["counter"]).parent.iterdir()
    path.unlink()
    if what == "unwritable":
        path.mkdir()
    assert answer(counted, ask_for()) is Refusal.LEDGER_DAMAGED
    assert counted.ledger(3).answers(3) == []


def test_a_crash_between_commit_and_counter(
    counted: State, ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger is ahead, the retry gets the stored bytes, and before they leave the counter has caught up."""

    class PowerLoss(BaseException):
        pass

    def crash(*_: object) -> None:
        raise PowerLoss

    with monkeypatch.context() as patch:
        patch.setattr(FileCounter, "raise_to", crash)
        with pytest.raises(PowerLoss):
            counted.device(3).answer(ask_for())
    counted.close()
    state = State(counted.folder)
    assert count(state) == 0 and len(state.ledger(3).answers(3)) == 1
    again = answer(state, ask_for())
    assert isinstance(again, Report) and again.replayed
    assert count(state) == 1


def test_a_counter_that_cannot_be_raised_holds_the_reply_back(
    counted: State, ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(FileCounter, "raise_to", full)
        assert answer(counted, ask_for()) is Refusal.LEDGER_DAMAGED
        messages = [wire.Message(wire.query_content(ask_for()), i + 1, wire.QUERY_TYPE) for i in range(4)]
        assert {wire.read_reply(r) for r in Fleet(counted.folder).answer(messages)} == {Refusal.LEDGER_DAMAGED}
    again = answer(counted, ask_for())
    assert isinstance(again, Report) and again.replayed


def test_a_counter_is_kept_elsewhere(tmp_path: Path, population: Population, policy_of: Callable[..., Policy]) -> None:
    for inside in (tmp_path / "s", tmp_path / "s" / "counters", tmp_path / "s" / ".." / "s" / "c"):
        with pytest.raises(ValueError, match="would be lost together"):
            enrol(tmp_path / "s", population, policy_of(population), seed=7, counters=inside)
    assert not (tmp_path / "s").exists()
    first, second = (
        enrol(tmp_path / name, population, policy_of(population), seed=7, counters=tmp_path / "apart")
        for name in ("first", "second")
    )
    assert first.head["counter"] != second.head["counter"] and len(os.listdir(tmp_path / "apart")) == 2
    plain = enrol(tmp_path / "plain", population, policy_of(population), seed=7)
    assert plain.head["format"] == 1 and "counter" not in plain.head
