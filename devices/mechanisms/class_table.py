"""The public table of class distributions that travels with a vote's question.

Every device gets the whole table, because asking for its neighbours' rows alone would reveal
the list. There are two forms:

- ``full``: one byte for each person and class, people in order. Byte b means that the class's
  probability is e^(-b / 16) of that of the person's most likely class. The scale of a row
  plays no part in a vote. A byte is off by 1/32 nat at most, down to e^-15.8. A row of 255
  says that nothing is known about the person.
- ``codes``: the different rows of the form ``full``, and a code of 4 or 8 bits for each person
  (:mod:`code_book`). Of more than 255 different rows they are rounded to so many.

The bytes travel in base64, 4/3 of their number. A compressed form would differ between
versions of the library that made it, and so would the question's fingerprint.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpsim.devices.array_types import BoolArray, FloatArray, IntArray
from ldpsim.devices.fixed_point import UNIT_BITS, falling_powers, logarithm
from ldpsim.devices.mechanisms.code_book import STEPS_PER_NAT, UNKNOWN, Bytes, coded, full_rows, read_codes

FORMS = ("full", "codes")
MOST_BYTES = (
    3_000_000  # as base64 it fits into a question (:data:`ldpsim.devices.query.MAX_BYTES`) with room for the rest
)
LARGEST_AFFINITY = 1 << 16
MOST_CLASSES = 255
_ONE = 1 << 24
_STEP = (1 << UNIT_BITS) // STEPS_PER_NAT  # units of a logarithm in a step of the table


def quantised(probabilities: FloatArray, form: str = "full") -> str:
    """Return the table of these class distributions as text.

    Args:
        probabilities: (n, classes), 0 or more, of any scale; a row of zeros is an unknown person.
        form: ``full`` or ``codes``.

    Raises:
        ValueError: for another shape or form, a number that is negative or not finite, or a table that no question
            can hold.
    """
    q = np.asarray(probabilities, np.float64)
    if q.ndim != 2 or form not in FORMS:
        raise ValueError(f"a table has a row for each person and a form of {', '.join(FORMS)}, not {q.shape}, {form}")
    if not (np.isfinite(q).all() and (q >= 0).all()):
        raise ValueError("a class probability is negative or not finite")
    rows = full_rows(q)
    rows = coded(rows) if form == "codes" and rows.size else rows
    if rows.size > MOST_BYTES:
        other = "; of the form codes it takes at most one byte a person" if form == "full" else ""
        raise ValueError(f"a table of {rows.size:,} bytes is longer than a question may be ({MOST_BYTES:,}){other}")
    return as_text(rows)


def as_text(rows: Bytes) -> str:
    """Return bytes as base64."""
    return base64.b64encode(np.ascontiguousarray(rows, np.uint8).tobytes()).decode("ascii")


def from_text(text: object, size: int) -> Bytes:
    """Read :func:`as_text` back, uint8 (size,); ValueError for any other text."""
    data = _bytes_of(text)
    if len(data) != size:
        raise ValueError(f"a text does not hold {size} bytes in base64")
    return data


def _bytes_of(text: object) -> Bytes:
    """Return the bytes of :func:`as_text`, none of any other text."""
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        data = b""
    return np.frombuffer(data if base64.b64encode(data).decode("ascii") == text else b"", np.uint8)


def affinity_weights(classes: int, homophily: float | None, affinity: FloatArray | None) -> tuple[int, ...]:
    """Return the affinity h [c = k] + (1 - h) / classes, or the one given, as whole numbers row by row.

    Raises:
        ValueError: unless one of them is given and every entry is above 0 (so h is below 1).
    """
    if (homophily is None) == (affinity is None):
        raise ValueError("a vote needs a homophily or an affinity, and not both")
    if homophily is not None:
        if not 0 <= homophily < 1:
            raise ValueError(f"a homophily must be 0 or more and below 1, not {homophily}")
        affinity = homophily * np.eye(classes) + (1 - homophily) / classes
    given = np.asarray(affinity, np.float64)
    if given.shape != (classes, classes) or not (np.isfinite(given).all() and (given > 0).all()):
        raise ValueError(f"an affinity is {classes} x {classes} finite numbers above 0")
    whole = np.rint(given / given.max() * LARGEST_AFFINITY).astype(np.int64)
    return tuple(np.maximum(whole, 1).ravel().tolist())


@dataclass(frozen=True, eq=False)
class ClassTable:
    """A table that was read.

    Args:
        rows: uint8, (rows, classes).
        affinity: int64 (classes, classes), 1 .. 2**16: entry (c, k) is proportional to the probability that a
            neighbour of a person of class c is of class k.
        codes: uint8 (n,), the row of each person; None where each person has an own one.

    Raises:
        ValueError: for a row that is unknown in part.
    """

    rows: Bytes
    affinity: IntArray
    codes: Bytes | None = None

    def __post_init__(self) -> None:
        wrong = (self.rows == UNKNOWN).any(axis=1) & ~self.unknown
        if wrong.any():
            raise ValueError(f"row {int(np.flatnonzero(wrong)[0])} of the table is no class distribution")

    @staticmethod
    def read(text: str, form: str, people: int, affinity: IntArray) -> ClassTable:
        """Read :func:`quantised` back.

        Raises:
            ValueError: for any other text.
        """
        classes = len(affinity)
        if form == "codes":
            book, codes = read_codes(_bytes_of(text), people, classes)
            return ClassTable(book, affinity, codes)
        return ClassTable(from_text(text, people * classes).reshape(people, classes), affinity)

    def row_of(self, people: IntArray) -> IntArray:
        """Return the row of each of these people; of number n, who is nobody, the number of rows."""
        return people if self.codes is None else self._codes.take(people)

    @cached_property
    def _codes(self) -> IntArray:
        assert self.codes is not None
        return np.append(self.codes, len(self.rows)).astype(np.int64)

    @cached_property
    def unknown(self) -> BoolArray:
        """bool (rows,): True where nothing is known."""
        found: BoolArray = (self.rows == UNKNOWN).all(axis=1)
        return found

    @cached_property
    def evidence(self) -> IntArray:
        """int64 (classes, rows), in units: what a neighbour j says for one's own class c, 0 where nothing is known.

        ln sum_k affinity[c, k] Q_j(k), up to a constant of j.
        """
        known = np.where(self.unknown, 0, self.rows.T)
        weights = falling_powers(STEPS_PER_NAT, UNKNOWN + 1, one=_ONE)[known]
        return np.where(self.unknown, 0, logarithm(self.affinity @ weights))

    @cached_property
    def own(self) -> IntArray:
        """int64 (rows, classes), in units: ln Q_i(c) up to a constant of i."""
        return np.where(self.unknown[:, None], 0, -_STEP * self.rows.astype(np.int64))

    @cached_property
    def ranked(self) -> Bytes:
        """uint8 (n, classes): each person's classes, the likeliest by :attr:`own` first, ties by number."""
        order = np.argsort(-self.own, axis=1, kind="stable").astype(np.uint8)
        return order if self.codes is None else order[self.codes]
