"""Edited, deleted, moved and inserted rows of a ledger are noticed.

It covers ``ldpsim.devices.ledger.ledger``, ``ldpsim.devices.ledger.ledger_file`` and
``ldpsim.devices.ledger.statements``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from ldpsim.devices.ledger.chain import seal_of
from ldpsim.devices.ledger.ledger import Ledger, LedgerDamaged
from ldpsim.devices.ledger.rows import Head
from ldpsim.devices.ledger.schema import LAST
from ldpsim.devices.query import Query
from tests.devices.ledger.entries import KEY, release, train

QUERY_EDITS = [
    ("number", 1), ("stage", 1), ("collection", "second"), ("grouping", b"g"), ("packed_parts", b""), ("time", 0.0),
    ("seal", b""), ("seal", b"s" * 32), ("packed_parts", "text"), ("collection", b"first"), ("time", "now"),
    ("stage", "x"), ("device", 10**9),
]  # fmt: skip
TRAINING_EDITS = [
    ("number", 2), ("collection", "second"), ("kind", "exchange"), ("attributes", "label"), ("fingerprint", b"g" * 32),
    ("loss_bit", 0.5), ("loss_vector", 0.0), ("delta", 0.0), ("total_bit", 0.0), ("total_vector", 0.0),
    ("total_delta", 0.0), ("data_digest", b""), ("size", 1), ("time", 0.0), ("seal", b"s" * 32), ("size", "much"),
]  # fmt: skip


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("table", "column", "value"),
    [("query_answer", *edit) for edit in QUERY_EDITS] + [("training_answer", *edit) for edit in TRAINING_EDITS],
)
def test_an_edited_row_is_noticed(
    ledger: Ledger, ask_for: Callable[..., Query], table: str, column: str, value: object, first: bool
) -> None:
    for number in range(2):
        if table == "query_answer":
            release(ledger, ask_for(attributes="al"[number]))
        else:
            train(ledger)
    assert ledger.readable(3, KEY)
    number = 0 if first else 1
    if column == "number" and value == number:
        value = 7
    with sqlite3.connect(ledger.path) as other:
        if column == "number":
            other.execute(f"DELETE FROM {table} WHERE number = {1 - number}")  # else the key is there twice
        other.execute(f"UPDATE {table} SET {column} = ? WHERE number = {number}", (value,))
    other.close()
    if (column, first) == ("device", False):
        return  # the last row was moved away: as good as deleted, and only a counter can tell
    assert not ledger.readable(3, KEY)
    with pytest.raises(LedgerDamaged):
        ledger.decide(3, ask_for(attributes="a"), seal_key=KEY, replay=True)
    with pytest.raises(LedgerDamaged), ledger.transaction():
        ledger.training(3, seal_key=KEY)


def test_rows_deleted_moved_or_inserted_are_noticed(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    """Both tables are one chain: a row of either cannot be dropped or changed to the other's place."""
    copied = (
        "INSERT INTO query_answer SELECT device, {number}, collection, stage, grouping, packed_parts, time, seal "
        "FROM query_answer WHERE device = 3 AND number = 0"
    )
    harms = [
        "DELETE FROM query_answer WHERE device = 3 AND number = 0",
        "DELETE FROM training_answer WHERE device = 3 AND number = 1",
        "UPDATE query_answer SET number = 10 - number WHERE device = 3",
        copied.format(number=3),
        copied.format(number=1),
        "UPDATE query_answer SET seal = (SELECT seal FROM query_answer WHERE number = 0) WHERE number = 2",
    ]
    for letter in "al":
        release(ledger, ask_for(attributes=letter))
        if letter == "a":
            train(ledger)
    assert [type(a).__name__ for a in ledger.answers(3)] == ["QueryAnswer", "TrainingAnswer", "QueryAnswer"]
    assert ledger.readable(3, KEY)
    for harm in harms:
        with ledger.transaction():
            ledger._db.execute("SAVEPOINT harm")
            ledger._db.execute(harm)
            assert not ledger.readable(3, KEY), harm
            with pytest.raises(LedgerDamaged):
                ledger.decide(3, ask_for(attributes="f"), seal_key=KEY, replay=True)
            ledger._db.execute("ROLLBACK TO harm")
    assert ledger.readable(3, KEY)
    # The last row can go unnoticed; the head that a counter would hold is then another one.
    head = ledger.head(3)
    ledger._db.execute("DELETE FROM query_answer WHERE number = 2")
    assert ledger.readable(3, KEY) and ledger.head(3) != head


def test_a_row_of_another_device_is_noticed(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    release(ledger, ask_for(attributes="a"), device=4, key=b"4" * 32)
    ledger._db.execute("UPDATE query_answer SET device = 3")
    assert not ledger.readable(3, KEY) and ledger.readable(4, b"4" * 32)


def test_every_bit_of_a_row_is_under_the_seal(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    release(ledger, ask_for(attributes="a"))
    for column in ("packed_parts", "seal"):
        (blob,) = ledger._db.execute(f"SELECT {column} FROM query_answer").fetchone()
        for bit in range(8 * len(blob)):
            flipped = bytearray(blob)
            flipped[bit // 8] ^= 1 << bit % 8
            ledger._db.execute(f"UPDATE query_answer SET {column} = ?", (bytes(flipped),))
            assert not ledger.readable(3, KEY)
        ledger._db.execute(f"UPDATE query_answer SET {column} = ?", (blob,))
    assert ledger.readable(3, KEY)


def test_the_head_of_a_chain(ledger: Ledger, ask_for: Callable[..., Query]) -> None:
    assert ledger.head(3) == Head()
    release(ledger, ask_for(attributes="a"))
    train(ledger)
    train(ledger, device=4, key=b"4" * 32)
    rows = ledger.answers(3)
    assert ledger.head(3) == Head(2, rows[1].seal) == ledger.training(3, seal_key=KEY)[0]
    assert rows[1].seal == seal_of(rows[1], rows[0].seal, KEY)
    plan = "".join(str(row) for row in ledger._db.execute(f"EXPLAIN QUERY PLAN {LAST}", (3,)))
    assert "SCAN query_answer" not in plan and "SCAN training_answer" not in plan
