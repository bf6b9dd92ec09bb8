"""SQLite on the simulator's disks: a VFS that tells each write and sync, and the part of ``sqlite3`` that ldpsim uses.

SQLite itself is the real one, in apsw's build. Its locks and shared memory are those of the real file system, so two
processes of the simulation that open one file wait for each other as SQLite has it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import apsw

from tests.faults.computers import Computers
from tests.faults.disk import Died

# SQLite syncs the folder with the first sync of one of these that it opens, whether it is new or not.
_JOURNALS = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL


def module_for(computers: Computers, name: str) -> Any:
    """Return what stands for the module ``sqlite3``; its connections are on the simulator's disks.

    Args:
        computers: The processes and disks.
        name: Name of the VFS, which SQLite knows it by.
    """
    vfs = _vfs(computers, name)
    computers.kept.append(vfs)  # SQLite knows it by its name alone
    names = {entry: getattr(sqlite3, entry) for entry in dir(sqlite3) if not entry.startswith("__")}
    return SimpleNamespace(**{**names, "connect": lambda address, **k: Connection(computers, name, address)})


def _vfs(computers: Computers, name: str) -> Any:
    class File(apsw.VFSFile):
        def __init__(self, given: Any, flags: list[int]) -> None:
            self.path = given.filename() if isinstance(given, apsw.URIFilename) else str(given or "")
            super().__init__("", given, flags)
            self.process, self.disk = computers.current, computers.disks.of(self.path)
            self.names_folder = bool(flags[0] & _JOURNALS and flags[0] & apsw.SQLITE_OPEN_CREATE)
            self.content = None
            if self.disk is not None:
                self.content = self.disk.now.get(self.path)
                if self.content is None:
                    self.content = self.disk.made(self.path)

        def _passes(self, what: str) -> bool:
            if self.disk is None:
                return True
            if self.process.dead:
                return False
            computers.step(self.disk, what, self.path)
            return True

        def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
            if self._passes("write"):
                if self.content is not None:
                    self.content.since.append((offset, bytes(data)))
                super().xWrite(data, offset)

        def xTruncate(self, size: int) -> None:  # noqa: N802
            if self._passes("truncate"):
                if self.content is not None:
                    self.content.since.append((size, None))
                super().xTruncate(size)

        def xSync(self, flags: int) -> None:  # noqa: N802
            if self.content is not None and self._passes("sync"):
                self.content.sync()
                if self.names_folder:
                    self.disk.sync_folder(os.path.dirname(self.path))
                    self.names_folder = False

    class Vfs(apsw.VFS):
        def xFullPathname(self, path: str) -> str:  # noqa: N802
            return path  # it is whole, and there are no links

        def xOpen(self, given: Any, flags: list[int]) -> Any:  # noqa: N802
            return File(given, flags)

        def xDelete(self, path: str, sync: bool) -> None:  # noqa: N802
            disk = computers.disks.of(path)
            if disk is not None:
                if computers.current.dead:
                    return
                computers.step(disk, "delete", path)
                disk.removed(path)
                if sync:
                    disk.sync_folder(os.path.dirname(path))
            super().xDelete(path, sync)

    return Vfs(name, "")


class Cursor:
    """The rows of one statement, as sqlite3 gives them."""

    def __init__(self, rows: list[tuple[Any, ...]], changes: int) -> None:
        self._rows = iter(rows)
        self.rowcount = changes

    def fetchone(self) -> Any:
        return next(self._rows, None)

    def fetchall(self) -> list[Any]:
        return list(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return self._rows


class Connection:
    """The part of sqlite3's connection that the ledger and the counter use."""

    def __init__(self, computers: Computers, vfs: str, address: Any) -> None:
        self._computers, self._process, self.path = computers, computers.current, str(address)
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
        self._db = self._as_process(lambda: apsw.Connection(self.path, flags=flags, vfs=vfs))
        self._db.set_busy_handler(computers.waits)
        self._process.connections.append(self)

    def _as_process(self, work: Callable[[], Any]) -> Any:
        """Call apsw as this process; its errors are sqlite3's, and a dead process does nothing more."""
        process, computers = self._process, self._computers
        if process.dead:
            raise Died
        before, computers.current = computers.current, process
        try:
            return work()
        except apsw.Error as error:
            if process.dead:
                raise Died from None
            raise sqlite3.OperationalError(str(error)) from None
        finally:
            computers.current = before

    def execute(self, sql: str, bindings: Any = ()) -> Cursor:
        self._computers.statement(self._process, sql)
        db = self._db
        return self._as_process(lambda: Cursor(db.execute(sql, bindings).fetchall(), db.changes()))

    def executemany(self, sql: str, rows: Any) -> Cursor:
        self._computers.statement(self._process, sql)
        db = self._db
        return self._as_process(lambda: Cursor(db.executemany(sql, list(rows)).fetchall(), db.changes()))

    @property
    def in_transaction(self) -> bool:
        return bool(self._db.in_transaction)

    def close(self) -> None:
        if self not in self._process.connections:
            return
        try:
            self._as_process(lambda: self._db.close(True))
        finally:
            if not self._process.dead:  # else the end of the process gives up its files, which reads this list
                self._process.connections.remove(self)

    def abandon(self) -> None:
        """Give up the files of a process that is dead: nothing is written, and no log is merged into its file."""
        with suppress(apsw.ConnectionClosedError):  # it died in the middle of closing them
            self._db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._db.close(True)
