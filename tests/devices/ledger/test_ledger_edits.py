"""Edited, deleted, moved and inserted rows of a ledger are noticed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.ledger.rows import head_of
from ldpsim.devices.query import Query
from tests.devices.ledger.entries import KEY, chain_of, harm, readable, release, train

EDITS = [
    ("number", 7), ("number", -1), ("number", "x"), ("device", 10**9), ("kind", "report"), ("kind", "exchange"),
    ("kind", b"update"), ("collection", "second"), ("collection", b"first"), ("body", b""), ("body", "text"),
    ("body", 5), ("seal", b""), ("seal", b"s" * 32), ("seal", "s"), ("collection", 1.5),
]  # fmt: skip


@pytest.fixture
def three(ledger: Ledger, ask_for: Callable[..., Query]) -> Ledger:
    """A ledger in which device 3 answered to a query, in a training and to another query."""
    release(ledger, ask_for(attributes="a"))
    train(ledger)
    release(ledger, ask_for(attributes="l"))
    return ledger


def put_back(ledger: Ledger, rows: list[tuple[object, ...]]) -> None:
    harm(ledger, "DELETE FROM answer")
    for row in rows:
        harm(ledger, "INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?)", values=row)
    assert readable(ledger)


@pytest.mark.parametrize("number", range(3))
def test_an_edited_value_is_noticed(three: Ledger, number: int) -> None:
    rows = [tuple(row) for row in chain_of(three)]
    for column, value in EDITS:
        if value == rows[number][2] or (number, column) == (2, "device"):
            continue  # no edit; or the last row was moved away, which only a counter can tell
        harm(three, f"UPDATE answer SET {column} = ? WHERE number = {number}", values=(value,))
        assert not readable(three), (column, value)
        put_back(three, rows)


def test_rows_deleted_moved_or_inserted_are_noticed(three: Ledger) -> None:
    rows = [tuple(row) for row in chain_of(three)]
    copied = "INSERT INTO answer SELECT device, 3, kind, collection, body, seal FROM answer WHERE number = {}"
    for change in (
        "DELETE FROM answer WHERE number = 0",
        "DELETE FROM answer WHERE number = 1",
        "UPDATE answer SET number = 10 - number",
        copied.format(0),
        copied.format(1),
        copied.format(2),
        "UPDATE answer SET seal = (SELECT seal FROM answer WHERE number = 0) WHERE number = 2",
        "UPDATE answer SET body = (SELECT body FROM answer WHERE number = 0) WHERE number = 2",
    ):
        harm(three, change)
        assert not readable(three), change
        put_back(three, rows)
    # The last row can go unnoticed; the head that a counter would hold is then another one.
    harm(three, "DELETE FROM answer WHERE number = 2")
    assert readable(three) and head_of(chain_of(three)).answers == 2


def test_every_bit_of_a_row_is_under_the_seal(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    release(ledger, ask_for(attributes="a"))
    for column in ("kind", "collection", "body", "seal"):
        (value,) = ledger._db.execute(f"SELECT {column} FROM answer").fetchone()
        data = value.encode() if isinstance(value, str) else value
        for bit in range(8 * len(data)):
            flipped = bytearray(data)
            flipped[bit // 8] ^= 1 << bit % 8
            kind = "TEXT" if isinstance(value, str) else "BLOB"
            ledger._db.execute(f"UPDATE answer SET {column} = CAST(? AS {kind})", (bytes(flipped),))
            assert not readable(ledger), (column, bit)
        ledger._db.execute(f"UPDATE answer SET {column} = ?", (value,))
    assert readable(ledger) and not readable(ledger, key=KEY[::-1][:-1] + b"x")
