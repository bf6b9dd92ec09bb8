"""The counter in a folder: one durable step, by several processes, and a file that its owner alone reads."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ldpsim.devices.ledger import counter_folder
from ldpsim.devices.ledger.counter import Entry
from ldpsim.devices.ledger.counter_folder import FolderCounter
from ldpsim.devices.ledger.rows import Head

ENTRIES = {device: Entry(Head(), bytes([device]) * 32) for device in range(8)}
ONE = Head(1, b"one")


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
