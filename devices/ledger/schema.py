"""The SQLite file of a ledger: creation of an empty one, and the check of its form.

The file's application id and schema version are those of SQLite's own header
(``application_id``, ``user_version``). Tables, indexes, triggers and views have to be
exactly the expected ones: a planted trigger could undo what the device enters.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from ldpsim.devices.atomic_files import make_durable
from ldpsim.devices.ledger.open_files import OpenFiles
from ldpsim.devices.ledger.rows import LedgerDamaged

SCHEMA = 4
APPLICATION = 0x6C647053  # "ldpS"
_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
_CREATE = """CREATE TABLE answer (device INTEGER NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL,
collection TEXT NOT NULL, body BLOB NOT NULL, seal BLOB NOT NULL, PRIMARY KEY (device, number))"""
_ANY = "SELECT 1 FROM answer LIMIT 1"
_ANSWERED = "SELECT count(DISTINCT device) FROM answer WHERE collection = ?"
_PAGE = 8192  # bytes; rows of a thousand bytes leave less room unused than in pages of half the size
# A rotten file also makes SQLite's own messages, or the sizes it asks memory for, unusable.
FAILURES = (sqlite3.Error, UnicodeError, MemoryError)


@contextmanager
def failing(what: str, failures: tuple[type[Exception], ...] = FAILURES) -> Iterator[None]:
    """Turn a failure of SQLite, or one of ``failures``, into LedgerDamaged."""
    try:
        yield
    except failures as error:
        raise LedgerDamaged(what) from error


def create(path: Path) -> None:
    """Make an empty ledger; the name is given to a finished file, so no blank one is ever seen."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    os.close(handle)
    try:
        _fill(Path(name))
        with suppress(FileExistsError):  # another process was first
            os.link(name, path)
    finally:
        os.unlink(name)


def _fill(path: Path) -> None:
    """Make the table in an empty file."""
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute("PRAGMA synchronous=FULL")
        db.execute(f"PRAGMA page_size={_PAGE}")
        db.execute("PRAGMA journal_mode=WAL")
        db.execute(f"PRAGMA application_id={APPLICATION}")
        db.execute(f"PRAGMA user_version={SCHEMA}")
        db.execute(_CREATE)
    finally:
        db.close()


@lru_cache(maxsize=1)
def _expected_objects() -> frozenset[tuple[Any, ...]]:
    db = sqlite3.connect(":memory:")
    try:
        db.execute(_CREATE)
        return frozenset(db.execute(_OBJECTS))
    finally:
        db.close()


def connect(path: Path, *, durable: bool = True) -> tuple[sqlite3.Connection, OpenFiles]:
    """Open a ledger that is there, check it whole, and return it with its files.

    All that it holds is on the disk when this returns. A process may have been killed after it wrote a row to the log
    and before it waited for the disk. SQLite takes that row for committed, and a retry gets its stored bytes. The names
    are on the disk, too: the last process deleted a log, and SQLite does not wait for that. Where somebody had put an
    older log in the place of its own, a power loss would bring that one back, and old pages over newer ones.

    Args:
        path: The file.
        durable: Whether a commit waits for the disk; a ledger of people who are soon gone does not need that.

    Raises:
        LedgerDamaged: for a file that is damaged, or no ledger of this version.
        sqlite3.Error: where SQLite cannot read the file.
        OSError: where the disk fails.
    """
    # mode=rw: a file that vanishes in between is not made anew, blank.
    address = f"{path.absolute().as_uri()}?mode=rw"
    db = sqlite3.connect(address, uri=True, isolation_level=None, timeout=60, check_same_thread=False)
    try:
        db.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")
        _check_version(db, path)
        files = OpenFiles(path, ("", "-wal", "-shm"))  # that first read opened the log and its index
        check(db, path)
        if durable:
            make_durable(Path(f"{path}-wal"))  # SQLite's locks are on the other two files
        if durable and db.execute(_ANY).fetchone() is not None:  # of an empty one nothing can be lost
            make_durable(path.parent)
        return db, files
    except BaseException:
        db.close()  # else its -wal and -shm files stay beside the ledger
        raise


def _check_version(db: Any, path: Path) -> None:
    """Raise LedgerDamaged for a file that is no ledger of this version, or has another form."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if (application, version) != (APPLICATION, SCHEMA):
        raise LedgerDamaged(f"{path.name} is not a ledger of a version that this program reads")
    _check_objects(db, path)


def check(db: Any, path: Path) -> None:
    """Check an open ledger whole; LedgerDamaged where it is damaged."""
    _check_version(db, path)
    # Not quick_check: a rotten key in the index would hide a row, and the device would report again.
    if db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
        raise LedgerDamaged(f"{path.name} is damaged")


def _check_objects(db: Any, path: Path) -> None:
    """Refuse a file of another form before anything reads its tables: a constraint or a view could run for days."""
    if frozenset(db.execute(_OBJECTS)) != _expected_objects():
        raise LedgerDamaged(f"{path.name} has other tables, indexes, triggers or views than a ledger")


def count_answered(path: Path, collection: str) -> int:
    """Return the number of devices in a ledger file that answered in a collection; only its form is checked.

    Raises:
        LedgerDamaged: where the file cannot be read, or has another form.
    """
    with failing(f"{path.name} cannot be read"):
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            _check_objects(db, path)
            return int(db.execute(_ANSWERED, (collection,)).fetchone()[0])
        finally:
            db.close()
