"""A model of the PostgreSQL server that keeps counters: its statements, transactions and row locks.

It stands for psycopg and the server together. A commit is durable when it returns, unless ``synchronous_commit`` is
off. A connection may break before a commit, or after it and before the client hears of it. A second transaction that
wants a locked row waits while other processes can go on; else it fails, as after ``tcp_user_timeout``.
``test_postgres_model.py`` runs the same sequences of calls on the real server and compares every result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from tests.faults.computers import Computers
from tests.faults.disk import Disk

Row = tuple[int, bytes, bytes]  # answers, seal, nonce


class PostgresError(Exception):
    """Stands for ``psycopg.Error``."""


class Operational(PostgresError):
    """Stands for ``psycopg.OperationalError``: the connection is gone."""


class Server:
    """The server.

    Args:
        computers: Of the simulation; each statement is a step of the process that sends it.
        disk: Takes part in coverage and stories alone.
    """

    def __init__(self, computers: Computers | None = None, disk: Disk | None = None) -> None:
        self.computers, self.disk = computers, disk
        self.rows: dict[tuple[str, int], Row] = {}
        self.safe: dict[tuple[str, int], Row] = {}
        self.locked: dict[tuple[str, int], object] = {}
        self.down = False
        self.breaks = ""  # "before" or "after": what becomes of the next commit
        self.spares_reads = False  # whether that is the next commit with changes

    def module(self) -> Any:
        """Return what stands for the module ``psycopg``."""
        conninfo = SimpleNamespace(conninfo_to_dict=lambda address: {}, make_conninfo=lambda address, **k: address)
        return SimpleNamespace(
            Error=PostgresError, OperationalError=Operational, conninfo=conninfo, connect=self.connect
        )

    def connect(self, address: str, *, autocommit: bool) -> Session:
        if self.down:
            raise Operational("connection refused")
        return Session(self)

    def load(self, rows: dict[tuple[str, int], Row]) -> None:
        self.rows, self.safe = dict(rows), dict(rows)
        self.locked.clear()
        self.down, self.breaks = False, ""

    def lose_power(self) -> None:
        """Start again with what was committed durably; every open transaction is undone."""
        self.rows = dict(self.safe)
        self.locked.clear()


class Session:
    """A connection."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.changes: dict[tuple[str, int], Row] = {}
        self.durable = False

    def close(self) -> None:
        self._unlock()

    def cursor(self) -> Session:
        return self

    def _unlock(self) -> None:
        locked = self.server.locked
        for key in [key for key, owner in locked.items() if owner is self]:
            del locked[key]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.changes, self.durable = {}, False
        try:
            yield
            self._commit()
        finally:
            self.changes = {}
            self._unlock()

    def _commit(self) -> None:
        server = self.server
        self._step("COMMIT")
        breaks = ""
        if self.changes or not server.spares_reads:
            breaks, server.breaks = server.breaks, ""
        if server.down or breaks == "before":
            raise Operational("server closed the connection")
        server.rows.update(self.changes)
        if self.durable:
            server.safe.update(self.changes)
        if breaks == "after":
            raise Operational("server closed the connection")

    def _step(self, sql: str) -> None:
        computers = self.server.computers
        if computers is not None:
            computers.statement(computers.current, sql)
        if self.server.down:
            raise Operational("server closed the connection")

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        self._step(sql)
        server, words = self.server, " ".join(sql.split())
        if "synchronous_commit" in words:
            self.durable = True
            return Rows([])
        if words.startswith("SELECT current_setting"):
            return Rows([("on",)])
        if words.startswith(("SELECT pg_advisory", "CREATE TABLE")):
            return Rows([])
        if words.startswith("SELECT to_regclass"):
            return Rows([("ldpsim_counter",)])
        if words.startswith("SELECT device, answers"):
            ledger, devices = values
            keys = sorted((ledger, device) for device in devices if (ledger, device) in server.rows)
            if "FOR UPDATE" in words:
                for key in keys:
                    while server.locked.setdefault(key, self) is not self:
                        if server.computers is None or not server.computers.waits():
                            raise Operational("canceling statement due to lock timeout")
            return Rows([(key[1], *self.changes.get(key, server.rows[key])) for key in keys])
        return self._write(words, values)

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        self._step(sql)
        for values in rows:
            self._write(" ".join(sql.split()), values)

    def _write(self, words: str, values: Sequence[Any]) -> Rows:
        if words.startswith("INSERT"):
            ledger, device, *row = values
            if (ledger, device) in self.server.rows:
                raise PostgresError("duplicate key value violates unique constraint")
            self.changes[ledger, device] = tuple(row)  # type: ignore[assignment]
        elif words.startswith("UPDATE"):
            answers, seal, ledger, device = values
            _, _, nonce = self.changes.get((ledger, device), self.server.rows[ledger, device])
            self.changes[ledger, device] = answers, seal, nonce
        else:
            raise PostgresError(f"the model does not know: {words}")
        return Rows([])


class Rows:
    """Rows of a result."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self.rows = rows

    def fetchone(self) -> tuple[Any, ...] | None:
        return self.rows[0] if self.rows else None

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.rows
