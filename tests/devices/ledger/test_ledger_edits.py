"""Edited, deleted, moved and inserted rows of a ledger are noticed."""

from __future__ import annotations

from collections.abc import Callable

from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.query import Query
from tests.devices.ledger.entries import KEY, readable, release


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
