"""Columns of a table, derived from the fields of one dataclass.

The SQL statements, the canonical bytes under a seal and the reading of a row all come from
the same fields: a column is declared once, as a field. ``int`` is stored as INTEGER,
``float`` as REAL, ``str`` as TEXT and ``bytes`` as BLOB.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, Generic, TypeVar, get_type_hints

Row = TypeVar("Row")
_SQL = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}
_NUMBERS = {int: "q", float: "d"}
SEAL = "seal"


class LedgerDamaged(Exception):
    """The ledger cannot be read or written, or contradicts itself."""


class Columns(Generic[Row]):
    """The fields of a dataclass as canonical bytes.

    The bytes are: all numbers in the order of the fields, the lengths of all texts and
    blobs, then the texts and blobs. A field called ``seal`` is left out, because the seal
    covers the others.

    Args:
        row: The dataclass.
    """

    def __init__(self, row: type[Row]) -> None:
        self.row = row
        self.kinds: dict[str, type] = {entry.name: get_type_hints(row)[entry.name] for entry in fields(row)}  # type: ignore[arg-type]
        packed = {name: kind for name, kind in self.kinds.items() if name != SEAL}
        numbers = [name for name, kind in packed.items() if kind in _NUMBERS]
        texts = [name for name, kind in packed.items() if kind not in _NUMBERS]
        self._head = struct.Struct("<" + "".join(_NUMBERS[packed[name]] for name in numbers) + "I" * len(texts))
        self._count = len(numbers)
        self._get_numbers, self._get_texts = _getter(numbers), _getter(texts)
        names = [*numbers, *texts]
        self._order = [names.index(name) for name in packed]
        self._decoded = [place for place, name in enumerate(names) if packed[name] is str]

    def pack(self, row: Row) -> bytes:
        """Return the canonical bytes of a row."""
        texts = [value if type(value) is bytes else value.encode() for value in self._get_texts(row)]
        return self.pack_values(self._get_numbers(row), texts)

    def pack_values(self, numbers: Iterable[float], texts: Sequence[bytes]) -> bytes:
        """Return the canonical bytes of a row with these numbers, texts and blobs, each in the order of the fields."""
        return self.pack_head(numbers, map(len, texts)) + b"".join(texts)

    def pack_head(self, numbers: Iterable[float], lengths: Iterable[int]) -> bytes:
        """Return the canonical bytes of a row up to its texts and blobs, of which these are the lengths."""
        return self._head.pack(*numbers, *lengths)

    def unpack(self, data: bytes) -> tuple[Row, ...]:
        """Split the bytes of several rows, joined without a gap.

        Raises:
            LedgerDamaged: for bytes that are not of this form.
        """
        rows, at, total = [], 0, len(data)
        try:
            while at < total:
                head = self._head.unpack_from(data, at)
                at += self._head.size
                values = list(head[: self._count])
                for size in head[self._count :]:
                    values.append(data[at : at + size])
                    at += size
                for place in self._decoded:
                    values[place] = values[place].decode()
                rows.append(self.row(*[values[place] for place in self._order]))
        except (struct.error, UnicodeError) as error:
            raise LedgerDamaged("a row is not of the ledger's form") from error
        if at > total:
            raise LedgerDamaged("a row is cut off")
        return tuple(rows)

    def outline(self, data: bytes, texts: int) -> bytes:
        """Return the bytes of several rows, joined without a gap, with only the first ``texts`` texts of each.

        Raises:
            LedgerDamaged: for bytes that are not of this form.
        """
        pieces, at, total = [], 0, len(data)
        try:
            while at < total:
                lengths = self._head.unpack_from(data, at)[self._count :]
                end = at + self._head.size
                pieces.append(data[at : end + sum(lengths[:texts])])
                at = end + sum(lengths)
        except struct.error as error:
            raise LedgerDamaged("a row is not of the ledger's form") from error
        if at > total:
            raise LedgerDamaged("a row is cut off")
        return b"".join(pieces)


class Table(Columns[Row]):
    """A table of the file: its statements, and rows read from it.

    Args:
        name: The table's name.
        row: The dataclass whose fields are the columns. ``seal``, where there is one, is the last.
        key: Names of the primary key's columns.
    """

    def __init__(self, name: str, row: type[Row], *, key: tuple[str, ...]) -> None:
        super().__init__(row)
        self.name = name
        names = ", ".join(self.kinds)
        columns = [f"{column} {_SQL[kind]} NOT NULL" for column, kind in self.kinds.items()]
        self.create = f"CREATE TABLE {name} ({', '.join(columns)}, PRIMARY KEY ({', '.join(key)}))"
        self.insert = f"INSERT INTO {name} ({names}) VALUES ({', '.join('?' * len(self.kinds))})"
        self.select_all = f"SELECT {names} FROM {name} ORDER BY {', '.join(key)}"
        self.select = f"SELECT {names} FROM {name} WHERE {key[0]} = ? ORDER BY {', '.join(key)}"
        self.select_one = f"SELECT {names} FROM {name} WHERE {' AND '.join(f'{column} = ?' for column in key)}"
        self.values = _getter(self.kinds)
        self._types = tuple(self.kinds.values())

    def read(self, values: tuple[Any, ...]) -> Row:
        """Return the row that SQLite read.

        Raises:
            LedgerDamaged: where a value is not of its column's type.
        """
        if tuple(map(type, values)) != self._types:
            raise LedgerDamaged("a row is not of the ledger's form")
        return self.row(*values)


def _getter(names: Iterable[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that takes these fields of a row; attrgetter is quick, but one name gives it no tuple."""
    wanted = tuple(names)
    return attrgetter(*wanted) if len(wanted) > 1 else lambda row: tuple(getattr(row, name) for name in wanted)
