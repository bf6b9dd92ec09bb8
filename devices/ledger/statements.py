"""Rows read from, and written to, an open ledger file. Nothing is checked but their form.

Every function takes the connection of :class:`ldpsim.devices.ledger.ledger.Ledger`, which turns SQLite's
failures into LedgerDamaged.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import groupby
from operator import attrgetter

from ldpsim.devices.ledger.chain import first_seals, seal_of
from ldpsim.devices.ledger.columns import LedgerDamaged
from ldpsim.devices.ledger.page_order import page_order
from ldpsim.devices.ledger.rows import QUERY_ANSWERS, TRAINING_ANSWERS, Answer, FirstAnswers, Head, QueryAnswer, sealed
from ldpsim.devices.ledger.schema import LAST

_IN_ORDER = attrgetter("device", "number")
_NOT_HELD = "the ledger does not hold what was entered"
_BETWEEN = "SELECT device FROM {} WHERE device BETWEEN ? AND ?"
_ALL_BETWEEN = QUERY_ANSWERS.select_all.replace(" ORDER BY ", " WHERE device BETWEEN ? AND ? ORDER BY ")
_FIRST = _ALL_BETWEEN.replace(" ORDER BY ", " AND number = 0 ORDER BY ")


def answers(db: sqlite3.Connection, device: int, *, trainings: bool) -> list[Answer]:
    """Return the rows of one device in the order of their numbers.

    Args:
        db: The connection.
        device: The device.
        trainings: Whether to look for answers in federated trainings.
    """
    queries = db.execute(QUERY_ANSWERS.select, (device,)).fetchall()
    trained = db.execute(TRAINING_ANSWERS.select, (device,)).fetchall() if trainings else []
    found: list[Answer] = [QUERY_ANSWERS.read(row) for row in queries]
    if trained:
        found += [TRAINING_ANSWERS.read(row) for row in trained]
        found.sort(key=_IN_ORDER)
    return found


def devices(db: sqlite3.Connection) -> Iterator[tuple[int, list[Answer]]]:
    """Yield each device that answered, with its rows in the order of their numbers."""
    queries = (QUERY_ANSWERS.read(row) for row in db.execute(QUERY_ANSWERS.select_all))
    trainings = (TRAINING_ANSWERS.read(row) for row in db.execute(TRAINING_ANSWERS.select_all))
    rows: Iterator[Answer] = merge(queries, trainings, key=_IN_ORDER)
    for device, own in groupby(rows, key=attrgetter("device")):
        yield device, list(own)


def head(db: sqlite3.Connection, device: int) -> Head:
    """Return the end of a device's chain: two index look-ups, however long the chain is."""
    found = db.execute(LAST, (device,)).fetchall()
    return max((Head(number + 1, seal) for number, seal in found), key=attrgetter("answers"), default=Head())


def devices_answered(db: sqlite3.Connection, first: int, last: int, *, trainings: bool) -> set[int]:
    """Return the devices from ``first`` to ``last`` that have a row."""
    tables = (QUERY_ANSWERS.name, TRAINING_ANSWERS.name) if trainings else (QUERY_ANSWERS.name,)
    return {device for name in tables for (device,) in db.execute(_BETWEEN.format(name), (first, last))}


def only_rows(db: sqlite3.Connection, first: int, last: int) -> list[QueryAnswer]:
    """Return the only row of each device from ``first`` to ``last`` that has one row, an answer to a query."""
    rows = db.execute(_ALL_BETWEEN, (first, last)).fetchall()
    several = {row[0] for row in rows if row[1]}
    return [QUERY_ANSWERS.read(row) for row in rows if row[0] not in several]


def enter(db: sqlite3.Connection, answer: Answer, after: Head, seal_key: bytes) -> Head:
    """Write the row that follows ``after``, sealed, and read it back. Return the new end of the chain.

    Raises:
        LedgerDamaged: where the file does not hold it now.
    """
    seal = seal_of(answer, after.seal, seal_key)
    table, values = sealed(answer, seal)
    db.execute(table.insert, values)
    if db.execute(table.select_one, values[:2]).fetchall() != [values]:
        raise LedgerDamaged(_NOT_HELD)
    return Head(answer.number + 1, seal)


def enter_first(db: sqlite3.Connection, answers: FirstAnswers, seal_keys: Sequence[bytes]) -> list[Head]:
    """Do :func:`enter` for the first rows of several devices; they are written in the order that fills pages.

    Raises:
        LedgerDamaged: where the file does not hold them now.
    """
    seals = first_seals(answers, seal_keys)
    rows = answers.rows(seals)
    db.executemany(QUERY_ANSWERS.insert, [rows[place] for place in page_order(answers.sizes).tolist()])
    entered = set(answers)
    found = [row for row in db.execute(_FIRST, (rows[0][0], rows[-1][0])) if row[0] in entered]
    if found != rows:
        raise LedgerDamaged(_NOT_HELD)
    return [Head(1, seal) for seal in seals]
