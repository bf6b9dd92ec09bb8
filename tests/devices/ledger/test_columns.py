"""Statements, canonical bytes and reading come from the fields of one dataclass."""

from __future__ import annotations

import math
import sqlite3
import struct
from dataclasses import dataclass, fields, make_dataclass

import pytest

from ldpsim.devices.ledger.columns import Columns, LedgerDamaged, Table
from ldpsim.devices.ledger.rows import PARTS, TABLES, Part


@dataclass(frozen=True)
class Mixed:
    """Kinds in no order, and a seal."""

    name: str
    size: int
    blob: bytes
    share: float
    seal: bytes = b""


MIXED = Table("mixed", Mixed, key=("name", "size"))


def test_bytes_are_numbers_then_lengths_then_texts_without_the_seal() -> None:
    packed = MIXED.pack(Mixed("é", -2, b"\0\1", 0.5, b"seal"))
    assert packed == struct.pack("<qdII", -2, 0.5, 2, 2) + "é".encode() + b"\0\1"


def test_rows_are_split_again_and_no_two_rows_have_the_same_bytes() -> None:
    parts = [Part("a", b"f" * 32, 1.0, math.inf, 0.0, b"", b""), Part("ab", b"", 0.0, 0.0, 1e-9, b"r" * 300, b"d")]
    packed = [PARTS.pack(part) for part in parts]
    assert PARTS.unpack(b"".join(packed)) == tuple(parts) and PARTS.unpack(b"") == ()
    assert PARTS.pack(Part("a", b"bc", 0.0, 0.0, 0.0, b"", b"")) != PARTS.pack(
        Part("ab", b"c", 0.0, 0.0, 0.0, b"", b"")
    )
    whole = packed[1]
    for end in range(1, len(whole)):
        with pytest.raises(LedgerDamaged):
            PARTS.unpack(whole[:end])
    with pytest.raises(LedgerDamaged):
        PARTS.unpack(PARTS.pack(Part("x", b"", 0.0, 0.0, 0.0, b"", b"")).replace(b"x", b"\xff"))


def test_statements_name_every_field_once() -> None:
    db = sqlite3.connect(":memory:")
    db.execute(MIXED.create)
    row = Mixed("n", 7, b"b", math.inf, b"s")
    db.execute(MIXED.insert, MIXED.values(row))
    assert [MIXED.read(found) for found in db.execute(MIXED.select, ("n",))] == [row]
    assert [MIXED.read(found) for found in db.execute(MIXED.select_all)] == [row]
    declared = [(name, kind) for _, name, kind, *_ in db.execute("PRAGMA table_info(mixed)")]
    assert declared == [("name", "TEXT"), ("size", "INTEGER"), ("blob", "BLOB"), ("share", "REAL"), ("seal", "BLOB")]
    with pytest.raises(sqlite3.IntegrityError):
        db.execute(MIXED.insert, MIXED.values(row))
    db.close()


@pytest.mark.parametrize("place", range(5))
def test_a_value_of_another_type_is_damage(place: int) -> None:
    values: list[object] = ["n", 7, b"b", 0.5, b"s"]
    for other in (None, "text", 1, 1.5, b"b"):
        if type(other) is not type(values[place]):
            with pytest.raises(LedgerDamaged):
                MIXED.read((*values[:place], other, *values[place + 1 :]))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_column_is_declared_once(table: Table[object]) -> None:
    """A field added to a row appears in the statements and under the seal; nothing else is to be edited."""
    more = make_dataclass("More", [(f.name, f.type) for f in fields(table.row) if f.name != "seal"]  # type: ignore[arg-type]
                          + [("added", int)], namespace={"__module__": table.row.__module__})  # fmt: skip
    wider = Table(table.name, more, key=("device",))
    for text in (wider.create, wider.insert, wider.select, wider.select_all):
        assert "added" in text
    row = [{int: 1, float: 1.0, str: "x", bytes: b"x"}[kind] for kind in wider.kinds.values()]
    one, other = more(*row), more(*row[:-1], 2)
    assert wider.pack(one) != wider.pack(other) and wider.read(tuple(row)) == one


def test_columns_of_one_kind() -> None:
    @dataclass(frozen=True)
    class Single:
        number: int

    globals()["Single"] = Single
    columns = Columns(Single)
    assert columns.unpack(columns.pack(Single(3))) == (Single(3),)
