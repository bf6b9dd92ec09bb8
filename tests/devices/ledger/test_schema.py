"""The file of a ledger: made whole, and of exactly the expected form (``test_ledger_damage.py`` plants other forms)."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from ldpsim.devices.ledger import schema
from ldpsim.devices.ledger.ledger import Ledger, LedgerDamaged
from ldpsim.devices.ledger.rows import head_of
from tests.devices.ledger.entries import KEY, chain_of, training_after

OPEN_AND_CLOSE = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("SELECT * FROM answer").fetchall()
db.close()
"""

WRITE_AND_DIE = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA synchronous=OFF")
db.execute("INSERT INTO answer VALUES (3, 0, 'report', 'c', x'00', x'00')")
os.kill(os.getpid(), 9)
"""


def test_an_empty_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    schema.create(path)
    made = path.stat().st_ino
    schema.create(path)  # one that is there stays
    assert [p.name for p in tmp_path.iterdir()] == ["ledger"] and path.stat().st_ino == made
    with sqlite3.connect(path) as db:
        schema.check(db, path)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("SELECT * FROM answer").fetchall() == []
    db.close()


def test_rows_that_a_killed_process_left_in_the_log_are_on_the_disk_when_a_ledger_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself trusts a log that it finds, and waits for nothing; a retry would give bytes that may vanish."""
    Ledger.create(tmp_path / "ledger").close()
    synced: list[tuple[str, int]] = []
    sync = os.fsync

    def recorded(handle: int) -> None:
        sync(handle)
        synced.append((Path(os.readlink(f"/proc/self/fd/{handle}")).name, os.fstat(handle).st_size))

    killed = subprocess.run([sys.executable, "-c", WRITE_AND_DIE, tmp_path / "ledger"])
    assert killed.returncode == -9
    size = (tmp_path / "ledger-wal").stat().st_size
    monkeypatch.setattr(os, "fsync", recorded)
    ledger = Ledger(tmp_path / "ledger")
    assert len(ledger.answers(3)) == 1 and synced == [("ledger-wal", size)] and size > 4096
    ledger.close()


def test_a_new_file_is_synced_from_its_first_page_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings that make it so; ``tests/faults`` shows what they do."""
    said: list[str] = []
    real = sqlite3.connect

    def traced(path: Path, *, isolation_level: None) -> sqlite3.Connection:
        db = real(path, isolation_level=isolation_level)
        db.set_trace_callback(said.append)
        return db

    monkeypatch.setattr(schema.sqlite3, "connect", traced)  # type: ignore[attr-defined]
    schema._fill(tmp_path / "ledger")
    assert said[:3] == ["PRAGMA synchronous=FULL", "PRAGMA page_size=8192", "PRAGMA journal_mode=WAL"]


def test_the_devices_that_answered_in_a_collection_are_counted_once(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger")
    assert schema.count_answered(ledger.path, "first") == 0
    for device, collection in ((3, "first"), (3, "first"), (4, "first"), (5, "second")):
        with ledger.transaction():
            rows = chain_of(ledger, device)
            row = training_after(rows, device)._replace(collection=collection)
            ledger.enter([row], [head_of(rows).seal], {device: KEY})
    before = sorted(path.name for path in tmp_path.iterdir())
    counts = {collection: schema.count_answered(ledger.path, collection) for collection in ("first", "second", "third")}
    assert counts == {"first": 2, "second": 1, "third": 0}
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    ledger.close()
    (tmp_path / "text").write_text("no ledger" * 100)
    for name in ("text", "missing"):
        with pytest.raises(LedgerDamaged, match=f"{name} cannot be read"):
            schema.count_answered(tmp_path / name, "first")
    assert not (tmp_path / "missing").exists()


def test_no_statement_reads_the_tables_of_another_form(tmp_path: Path) -> None:
    """An integrity check evaluates the constraints of every row, and a constraint may take hours."""
    Ledger.create(tmp_path / "ledger").close()
    with sqlite3.connect(tmp_path / "ledger") as db:
        db.execute("DROP TABLE answer")
        db.execute("CREATE TABLE answer (device INTEGER, CHECK (length(hex(zeroblob(400000000))) > 0))")
    db.close()
    run: list[str] = []
    with sqlite3.connect(tmp_path / "ledger") as db:
        db.set_trace_callback(run.append)
        with pytest.raises(LedgerDamaged, match="other tables, indexes, triggers or views"):
            schema.check(db, tmp_path / "ledger")
    db.close()
    with pytest.raises(LedgerDamaged, match="other tables, indexes, triggers or views"):
        schema.count_answered(tmp_path / "ledger", "c")
    assert run == ["PRAGMA application_id", "PRAGMA user_version", schema._OBJECTS]
