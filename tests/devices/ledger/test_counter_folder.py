"""The counter in a folder: one durable step. The model of PostgreSQL gives the results of a real server."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from ldpsim.devices.ledger import counter_folder, counter_postgres
from ldpsim.devices.ledger.counter import Entry
from ldpsim.devices.ledger.counter_folder import FolderCounter
from ldpsim.devices.ledger.counter_postgres import PostgresCounter
from ldpsim.devices.ledger.rows import Head
from tests.faults import postgres

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


if TYPE_CHECKING:
    from tests.devices.ledger.conftest import Server

HEADS = [Head(), *(Head(number, bytes([number, twin]) * 16) for number in (1, 2, 3) for twin in (0, 1))]


def said(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except OSError as error:
        return type(error)


@pytest.fixture
def both(postgres_server: Server) -> Callable[[Callable[[PostgresCounter], Any]], Any]:
    """Do something with a counter on the server and one on the model, and compare what comes of it."""
    name, model = uuid4().hex, postgres.Server()
    address = postgres_server.address + "&options=-c%20lock_timeout%3D200"
    real, modelled = PostgresCounter(address, name), PostgresCounter("postgresql://model", name)

    def act(work: Callable[[PostgresCounter], Any]) -> Any:
        found = said(lambda: work(real))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(counter_postgres, "_psycopg", model.module)
            assert said(lambda: work(modelled)) == found
        return found

    return act


def test_random_calls(both: Callable[[Callable[[PostgresCounter], Any]], Any]) -> None:
    entries = {device: Entry(Head(), bytes([device]) * 32) for device in range(4)}
    assert both(lambda counter: counter.advance({1: (HEADS[0], HEADS[1])})) is OSError  # nobody is known
    assert both(lambda counter: counter.create(entries)) is None
    assert both(lambda counter: counter.create(entries)) is OSError
    rng, seen = Random(5), set()
    for _ in range(150):
        devices = rng.sample(range(5 if rng.random() < 0.1 else 4), rng.randrange(1, 4))
        if rng.random() < 0.3:
            both(lambda counter, wanted=devices: counter.entries(wanted))
            continue
        changes = {device: (rng.choice(HEADS), rng.choice(HEADS)) for device in devices}
        found = both(lambda counter, wanted=changes: counter.advance(wanted))
        seen.add("refused" if found is OSError else "left" if found else "advanced")
    assert seen == {"refused", "left", "advanced"}
    assert len(both(lambda counter: counter.entries(range(9)))) == 4
