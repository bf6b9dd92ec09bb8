"""The counter in a folder: one durable step, by several processes, and a file that its owner alone reads."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ldpsim.devices.ledger import counter_folder
from ldpsim.devices.ledger.counter import Entry
from ldpsim.devices.ledger.counter_folder import FolderCounter, _opened
from ldpsim.devices.ledger.rows import Head

ENTRIES = {device: Entry(Head(), bytes([device]) * 32) for device in range(8)}
ONE, TWO, OTHER = Head(1, b"a" * 32), Head(2, b"b" * 32), Head(1, b"x" * 32)


@pytest.fixture
def counter(tmp_path: Path) -> FolderCounter:
    made = FolderCounter(tmp_path / "new" / "c.count")
    made.create(ENTRIES)
    return made


def test_it_is_made_once_and_never_by_a_look(tmp_path: Path, counter: FolderCounter) -> None:
    assert counter.entries(range(9)) == ENTRIES and FolderCounter(counter.path).entries([3]) == {3: ENTRIES[3]}
    with pytest.raises(FileExistsError):
        counter.create(ENTRIES)
    missing = FolderCounter(tmp_path / "none.count")
    for act in (lambda: missing.entries([1]), lambda: missing.advance({1: (Head(), ONE)})):
        with pytest.raises(OSError):
            act()
    assert [path.name for path in missing.path.parent.glob("*.count*")] == []
    assert not [path for path in counter.path.parent.iterdir() if path.name.startswith(".")]
    with sqlite3.connect(counter.path) as newer:
        newer.execute("PRAGMA user_version=2")
    newer.close()
    with pytest.raises(OSError, match="not a counter of a version"):
        counter.entries([1])
    counter.path.write_bytes(b"no database" * 1000)
    with pytest.raises(OSError, match="cannot be read"):
        counter.entries([1])


def test_a_step_is_on_the_disk_before_it_returns(counter: FolderCounter) -> None:
    """The settings that make it so; ``tests/faults`` shows what they do."""
    with _opened(counter.path) as db:
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert db.execute("PRAGMA journal_mode").fetchone() == ("truncate",)  # whose end is synced too under FULL


def test_a_file_that_is_replaced_meanwhile_counts_nothing(
    counter: FolderCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step went into a file that nobody finds, and the reply would rely on it."""

    def replace(sql: str) -> None:
        if sql == "COMMIT":
            shutil.copy(counter.path, counter.path.with_name("copy"))
            counter.path.with_name("copy").replace(counter.path)

    @contextmanager
    def opened(path: Path) -> Iterator[sqlite3.Connection]:
        with real(path) as db:
            db.set_trace_callback(replace)
            yield db

    real = counter_folder._opened
    monkeypatch.setattr(counter_folder, "_opened", opened)
    with pytest.raises(OSError, match="replaced while it was open"):
        counter.advance({1: (Head(), ONE)})
    monkeypatch.undo()
    assert counter.entries([1])[1].head == Head()


def test_its_name_is_on_the_disk_before_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = FolderCounter(tmp_path / "apart" / "c.count")
    synced: list[tuple[Path, bool]] = []
    monkeypatch.setattr(
        "ldpsim.devices.ledger.counter_folder.make_durable", lambda path: synced.append((path, counter.path.exists()))
    )
    counter.create(ENTRIES)
    assert synced == [(counter.path.parent, True)]


def test_what_a_killed_process_left_is_on_the_disk_before_it_is_used(
    counter: FolderCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have died between the end of the transaction and the sync. Who reads an answer syncs the journal."""
    synced: list[Path] = []
    monkeypatch.setattr("ldpsim.devices.ledger.counter_folder.make_durable", synced.append)
    counter.entries([1, 2])
    counter.advance({1: (Head(), ONE)})
    assert synced == []  # nobody answered; and the step was written and synced here
    assert counter.entries([1, 2])[1].head == ONE
    assert synced == [Path(f"{counter.path}-journal")] and synced[0].is_file()
    assert counter.advance({1: (Head(), ONE)}) == {}  # another process made this step
    assert len(synced) == 2


def climb(path: Path, barrier: object, won: object) -> None:
    """Try to take each of fifty steps of one device first."""
    counter, mine = FolderCounter(path), os.getpid().to_bytes(32, "little")
    steps = 0
    for number in range(50):
        barrier.wait()  # type: ignore[attr-defined]
        head = counter.entries([0])[0].head
        barrier.wait()  # type: ignore[attr-defined]
        steps += counter.advance({0: (head, Head(number + 1, mine))}) == {}
    won.put(steps)  # type: ignore[attr-defined]


def test_of_several_processes_one_takes_each_step(counter: FolderCounter) -> None:
    context = multiprocessing.get_context("fork")
    barrier, won = context.Barrier(3), context.Queue()
    processes = [context.Process(target=climb, args=(counter.path, barrier, won)) for _ in range(3)]
    for process in processes:
        process.start()
    steps = [won.get() for _ in processes]
    for process in processes:
        process.join()
    assert sum(steps) == 50 and counter.entries([0])[0].head.answers == 50
