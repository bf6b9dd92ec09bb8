"""Counter in a folder: one SQLite file for each ledger.

Two processes that advance a device wait for each other by file locks, so the folder has to
be on a disk of this machine (:mod:`ldpsim.devices.enrolment.counters` refuses another one). The file
is opened for each use: no connection survives a fork, and a file that was deleted or replaced
is not served from memory.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ldpsim.devices.atomic_files import make_durable, private_folder
from ldpsim.devices.ledger.counter import Entry
from ldpsim.devices.ledger.open_files import OpenFiles
from ldpsim.devices.ledger.rows import Head

SCHEMA = 1
APPLICATION = 0x6C647043  # "ldpC"
_CREATE = """
CREATE TABLE counter
    (device INTEGER PRIMARY KEY, answers INTEGER NOT NULL, seal BLOB NOT NULL, nonce BLOB NOT NULL) STRICT
"""
_FORM = "SELECT a.application_id, v.user_version FROM pragma_application_id a, pragma_user_version v"
_SELECT = "SELECT answers, seal, nonce FROM counter WHERE device = ?"
_ADVANCE = "UPDATE counter SET answers = ?, seal = ? WHERE device = ? AND answers = ? AND seal = ?"


class FolderCounter:
    """The counters of one ledger's devices, in a file.

    Args:
        path: The file; :meth:`create` makes it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, entries: Mapping[int, Entry]) -> None:
        """Make the file; the name is given to a finished one.

        Raises:
            OSError: where it cannot be made; FileExistsError where there is one already.
        """
        private_folder(self.path.parent)
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}-")
        os.fchmod(handle, 0o600)
        os.close(handle)
        try:
            with _connected(Path(name)) as db:
                db.execute("BEGIN IMMEDIATE")
                db.execute(f"PRAGMA application_id={APPLICATION}")
                db.execute(f"PRAGMA user_version={SCHEMA}")
                db.execute(_CREATE)
                rows = ((device, e.head.answers, e.head.seal, e.nonce) for device, e in sorted(entries.items()))
                db.executemany("INSERT INTO counter VALUES (?, ?, ?, ?)", rows)
                db.execute("COMMIT")
            os.link(name, self.path)
        finally:
            for leftover in (name, f"{name}-journal"):
                Path(leftover).unlink(missing_ok=True)
        make_durable(self.path.parent)

    def entries(self, devices: Iterable[int]) -> dict[int, Entry]:
        """Return what is held of these devices, on the disk by then; OSError where the file cannot be read."""
        with _opened(self.path) as db:
            rows = {device: db.execute(_SELECT, (device,)).fetchone() for device in devices}
        read = {device: self._entry(*row) for device, row in rows.items() if row is not None}
        if any(entry.head.answers for entry in read.values()):
            self._wait_for_disk()
        return read

    def _wait_for_disk(self) -> None:
        """Wait until what was read cannot go back.

        A process may have been killed after it cut the journal off, which ends a transaction, and before it waited for
        the disk. Others read the new values then, and a power loss brings the journal and the old values back.
        """
        with suppress(FileNotFoundError):
            make_durable(Path(f"{self.path}-journal"))

    def _entry(self, answers: object, seal: object, nonce: object) -> Entry:
        """Return what a row says; OSError for one that a rotten file gives, whose values SQLite does not check."""
        if not (isinstance(answers, int) and isinstance(seal, bytes) and isinstance(nonce, bytes)):
            raise OSError(f"{self.path.name} is damaged")
        return Entry(Head(answers, seal), nonce)

    def advance(self, changes: Mapping[int, tuple[Head, Head]]) -> dict[int, Head]:
        """Advance as :class:`~ldpsim.devices.ledger.counter.Counter` says; OSError where it cannot be done."""
        left: dict[int, Head] = {}
        stale = False
        with _opened(self.path) as db:
            db.execute("BEGIN IMMEDIATE")
            for device, (expected, new) in changes.items():
                values = (new.answers, new.seal, device, expected.answers, expected.seal)
                if db.execute(_ADVANCE, values).rowcount == 1:
                    continue
                row = db.execute(_SELECT, (device,)).fetchone()
                if row is None:
                    raise OSError(f"{self.path.name} does not know device {device}")
                head = self._entry(*row).head
                stale = True
                if head != new:
                    left[device] = head
            db.execute("COMMIT")
        if stale:  # written by another process
            self._wait_for_disk()
        return left

    def close(self) -> None:
        """Do nothing: a file is closed after each use."""


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a finished file; OSError where it is no counter of this version."""
    with _connected(path) as db:
        if db.execute(_FORM).fetchone() != (APPLICATION, SCHEMA):
            raise OSError(f"{path.name} is not a counter of a version that this program reads")
        yield db


@contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file that is there, and close it without a commit of what was not committed."""
    try:
        address = f"{path.absolute().as_uri()}?mode=rw"  # a file that is gone is not made anew
        db = sqlite3.connect(address, uri=True, isolation_level=None, timeout=60)
        try:
            file = OpenFiles(path, ("",))  # nobody relies on a step that was cut off, which the journal undoes
            db.execute("PRAGMA journal_mode=TRUNCATE")
            db.execute("PRAGMA synchronous=FULL")
            yield db
            file.check()
        finally:
            db.close()
    except (sqlite3.Error, MemoryError) as error:
        raise OSError(f"{path.name} cannot be read or written") from error
