"""Counter in a PostgreSQL database, on a machine of its own: one table, one row for each device.

A change locks the rows of its devices, compares them, and is on the server's disk before
it returns (``synchronous_commit`` is switched on where it is off). The library psycopg is
needed (``pip install 'ldpsim[postgres]'``).

An address holds no password, because it stands in command lines and in ``enrolment.json``.
libpq takes the password from ``PGPASSFILE``, ``PGSERVICEFILE`` or ``PGPASSWORD``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from ldpsim.devices.ledger.counter import Entry
from ldpsim.devices.ledger.rows import Head

ADDRESSES = ("postgresql://", "postgres://")
_PASSWORDS = {"password", "sslpassword"}
_DEFAULTS = {"connect_timeout": 5, "tcp_user_timeout": 10_000, "target_session_attrs": "read-write"}
_TABLE = "ldpsim_counter"
_FIND = f"SELECT to_regclass('{_TABLE}')"
_CREATE = f"""
CREATE TABLE {_TABLE} (ledger text, device bigint, answers bigint NOT NULL, seal bytea NOT NULL, nonce bytea NOT NULL,
    PRIMARY KEY (ledger, device))
"""
_INSERT = f"INSERT INTO {_TABLE} VALUES (%s, %s, %s, %s, %s)"
_SELECT = f"SELECT device, answers, seal, nonce FROM {_TABLE} WHERE ledger = %s AND device = ANY(%s)"
_LOCK = f"{_SELECT} ORDER BY device FOR UPDATE"  # in one order: two transactions never wait for each other
_ADVANCE = f"UPDATE {_TABLE} SET answers = %s, seal = %s WHERE ledger = %s AND device = %s"
_DURABLE = """
SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'
"""
_ENROL_LOCK = "SELECT pg_advisory_xact_lock(1818521680)"
_Result = TypeVar("_Result")
_Connection = Any  # psycopg.Connection, which is imported where it is used


def check_address(address: str) -> None:
    """Check an address without a connection.

    Raises:
        ValueError: where it holds a password or cannot be read, or psycopg is not installed. The text does not
            repeat the address.
    """
    try:
        psycopg = _psycopg()
    except OSError as error:
        raise ValueError(str(error)) from error
    try:
        parts = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        raise ValueError("the address of the counters is none that PostgreSQL reads") from None
    if _PASSWORDS & parts.keys():
        raise ValueError("an address of counters holds no password: put it in the file that PGPASSFILE names")


def _psycopg() -> Any:
    try:
        import psycopg
        import psycopg.conninfo
    except ImportError as error:
        raise OSError("counters in PostgreSQL need psycopg: pip install 'ldpsim[postgres]'") from error
    return psycopg


class PostgresCounter:
    """The counters of one ledger's devices, in a database.

    Args:
        address: ``postgresql://user@host/database``, as libpq reads it, without a password.
        ledger: Name of the ledger in the table.
    """

    def __init__(self, address: str, ledger: str) -> None:
        self.address = address
        self.ledger = ledger
        self._connection: _Connection | None = None
        self._process = 0

    def create(self, entries: Mapping[int, Entry]) -> None:
        """Add rows for the devices, and the table where it is missing.

        Raises:
            OSError: where the server cannot be reached, refuses, or does not write to its disk.
        """
        rows = [(self.ledger, device, e.head.answers, e.head.seal, e.nonce) for device, e in sorted(entries.items())]

        def insert(db: _Connection) -> None:
            for name in ("fsync", "full_page_writes"):
                if db.execute("SELECT current_setting(%s)", (name,)).fetchone() != ("on",):
                    raise OSError(f"the PostgreSQL server has {name} off: its counters would not survive a power loss")
            db.execute(_ENROL_LOCK)
            if db.execute(_FIND).fetchone() == (None,):
                db.execute(_CREATE)
            db.cursor().executemany(_INSERT, rows)

        self._run(insert)

    def entries(self, devices: Iterable[int]) -> dict[int, Entry]:
        """Return what is held of these devices; OSError where the server cannot be reached."""
        wanted = list(devices)

        def select(db: _Connection) -> dict[int, Entry]:
            rows = db.execute(_SELECT, (self.ledger, wanted)).fetchall()
            return {device: Entry(Head(answers, seal), nonce) for device, answers, seal, nonce in rows}

        return self._run(select)

    def advance(self, changes: Mapping[int, tuple[Head, Head]]) -> dict[int, Head]:
        """Advance as :class:`~ldpsim.devices.ledger.counter.Counter` says; OSError where it cannot be done."""

        def update(db: _Connection) -> dict[int, Head]:
            rows = db.execute(_LOCK, (self.ledger, list(changes))).fetchall()
            heads = {device: Head(answers, seal) for device, answers, seal, _ in rows}
            if len(heads) < len(changes):
                raise OSError(f"the counters do not know {len(changes) - len(heads)} devices")
            matching = [(new, device) for device, (expected, new) in changes.items() if heads[device] == expected]
            values = [(new.answers, new.seal, self.ledger, device) for new, device in matching]
            if values:
                db.cursor().executemany(_ADVANCE, values)
            return {device: head for device, head in heads.items() if head not in changes[device]}

        return self._run(update)

    def _run(self, work: Callable[[_Connection], _Result]) -> _Result:
        """Do something in one transaction; again on a new connection where the one that was kept fails.

        Doing it twice is harmless: what was advanced already counts as advanced.
        """
        psycopg = _psycopg()
        kept = self._kept()
        try:
            if kept is not None:
                with suppress(psycopg.OperationalError):
                    return self._in_transaction(kept, work)
            return self._in_transaction(self._connect(psycopg), work)
        except psycopg.Error as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise OSError(f"the PostgreSQL server of the counters failed: {reason}") from None

    def _kept(self) -> _Connection | None:
        """Take the connection that was kept; None where there is none of this process: it does not survive a fork."""
        kept, self._connection = self._connection, None
        return kept if self._process == os.getpid() else None

    def _in_transaction(self, db: _Connection, work: Callable[[_Connection], _Result]) -> _Result:
        """Do something in a transaction of a connection, which is kept, or closed on an error."""
        try:
            with db.transaction():
                db.execute(_DURABLE)
                result = work(db)
        except BaseException:
            db.close()
            raise
        self._connection, self._process = db, os.getpid()
        return result

    def close(self) -> None:
        """Close the connection that was kept; a later call makes a new one."""
        kept = self._kept()
        if kept is not None:
            kept.close()

    def _connect(self, psycopg: Any) -> _Connection:
        parts = psycopg.conninfo.conninfo_to_dict(self.address)
        missing = {name: value for name, value in _DEFAULTS.items() if name not in parts}
        return psycopg.connect(psycopg.conninfo.make_conninfo(self.address, **missing), autocommit=True)
