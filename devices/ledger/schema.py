"""A ledger's SQLite file: its table, its statements, and how an empty one is made."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import suppress
from pathlib import Path

SCHEMA = 1
APPLICATION = 0x6C647053  # "ldpS"
_TABLE = """
CREATE TABLE IF NOT EXISTS release (
    device INTEGER NOT NULL,
    attribute TEXT NOT NULL,
    stage INTEGER NOT NULL,
    collection TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    grouping BLOB NOT NULL,
    loss_bit REAL NOT NULL,
    loss_vector REAL NOT NULL,
    delta REAL NOT NULL,
    report BLOB NOT NULL,
    data_digest BLOB NOT NULL,
    time REAL NOT NULL,
    seal BLOB NOT NULL,
    PRIMARY KEY (device, attribute, stage)
)
"""
_COLUMNS = (
    "device, attribute, stage, collection, fingerprint, grouping, loss_bit, loss_vector, delta, report, "
    "data_digest, time, seal"
)
SELECT = f"SELECT {_COLUMNS} FROM release WHERE device = ? ORDER BY attribute, stage"
LAST = f"SELECT {_COLUMNS} FROM release WHERE device = ? AND attribute = ? ORDER BY stage DESC LIMIT 1"
INSERT = f"INSERT INTO release ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
ALL = f"SELECT {_COLUMNS} FROM release ORDER BY device, attribute, stage"


def create(path: Path) -> None:
    """Make an empty ledger; the name is given to a finished file, so no blank one is ever seen."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    os.close(handle)
    try:
        db = sqlite3.connect(name, isolation_level=None)
        try:
            db.execute("PRAGMA synchronous=FULL")
            db.execute("PRAGMA journal_mode=WAL")
            db.execute(f"PRAGMA application_id={APPLICATION}")
            db.execute(f"PRAGMA user_version={SCHEMA}")
            db.execute(_TABLE)
        finally:
            db.close()
        with suppress(FileExistsError):  # another process was first
            os.link(name, path)
    finally:
        os.unlink(name)
