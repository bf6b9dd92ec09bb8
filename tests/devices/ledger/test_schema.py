"""The file of a ledger: made whole, and of exactly the expected form (``test_ledger_damage.py`` plants other forms)."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ldpsim.devices.ledger import schema
from ldpsim.devices.ledger.ledger import Ledger, LedgerDamaged
from ldpsim.devices.ledger.rows import head_of
from tests.devices.ledger.entries import KEY, chain_of, training_after


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
