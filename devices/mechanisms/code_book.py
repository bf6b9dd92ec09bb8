"""A code book: the different rows of a table of class distributions, and for each person the number of a row.

The bytes are, one after the other:

- the number of rows k, 1 .. 255, in one byte;
- the rows, ``classes`` bytes each, in the form ``full`` of :mod:`class_table`;
- the codes of all people. A code has 4 bits where k is 16 or less, else 8. Of two people in one byte the first has
  the lower half. After an odd number of people the last half is 0.

The rows are in rising order, all different, and somebody has each of them. So a table has one form in bytes, and a
device refuses every other one.

A table of more than 255 different rows is rounded. Its rows are grouped around 255 centres by Lloyd's algorithm, by
the distance of ln(p + 0.02): what a row adds to a score is the logarithm of a mixture. The first centre is the most
frequent row, and each further one is the row that is farthest from those before (Gonzalez 1985). A group has the mean
of its rows' bytes. All numbers are whole, so the table is the same on every machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.fixed_point import falling_powers, logarithm

UNKNOWN = 255
STEPS_PER_NAT = 16
MOST_ROWS = 255
MOST_IN_HALVES = 16  # rows whose numbers fit into half a byte
_ONE = 1 << 24
_CERTAIN, _MIXED = 1 << 16, 1311  # a probability of 1, and of 0.02
_FINE = 8  # bits of a logarithm that are left out: sums of products of two logarithms are exact in float64
_ROUNDS = 15

Bytes = NDArray[np.uint8]


def full_rows(probabilities: DoubleArray) -> Bytes:
    """Return rows in the form ``full``, uint8 of the same shape; a row of zeros is an unknown person."""
    most = probabilities.max(axis=1, initial=0.0, keepdims=True)
    unknown = most == 0
    with np.errstate(divide="ignore"):
        behind = -np.log(probabilities / np.where(unknown, 1.0, most))
    rows = np.where(unknown, UNKNOWN, np.clip(np.rint(STEPS_PER_NAT * behind), 0, UNKNOWN - 1))
    return rows.astype(np.uint8)


def coded(rows: Bytes) -> Bytes:
    """Return a table as a code book and codes, uint8; one with more than 255 different rows is rounded first.

    Args:
        rows: uint8 (n, classes), in the form ``full``; n and classes at least 1.
    """
    book, codes = different_rows(rows)
    if len(book) > MOST_ROWS:
        book, codes = different_rows(_rounded(book, np.bincount(codes))[codes])
    packed = codes.astype(np.uint8)
    if len(book) <= MOST_IN_HALVES:
        pairs = np.resize(np.append(packed, np.uint8(0)), (-(-len(packed) // 2), 2))
        packed = np.bitwise_or(pairs[:, 0], pairs[:, 1] << 4, dtype=np.uint8)
    return np.concatenate([np.array([len(book)], np.uint8), book.ravel(), packed])


def read_codes(data: Bytes, people: int, classes: int) -> tuple[Bytes, Bytes]:
    """Return the rows, uint8 (k, classes), and everybody's code, uint8 (people,), of :func:`coded`.

    Raises:
        ValueError: for any other bytes.
    """
    count = int(data[0]) if len(data) else 0
    start, halves = 1 + count * classes, count <= MOST_IN_HALVES
    if not count or len(data) != start + (-(-people // 2) if halves else people):
        raise ValueError("a table is not a code book and a code for each person")
    book, codes = data[1:start].reshape(count, classes), data[start:]
    if halves:
        codes = np.stack([codes & 15, codes >> 4], axis=1).ravel()
        if codes[people:].any():
            raise ValueError("a table's last half of a byte is not 0")
        codes = codes[:people]
    used = np.bincount(codes, minlength=count) > 0
    if len(used) > count or not used.all():
        raise ValueError("a table's codes are not those of its rows")
    texts = [row.tobytes() for row in book]
    if texts != sorted(set(texts)):
        raise ValueError("a code book's rows are not in rising order")
    return book, codes


def different_rows(rows: Bytes) -> tuple[Bytes, IntArray]:
    """Return the different rows in rising order, uint8 (k, classes), and which of them each row is, int64 (n,)."""
    which = np.zeros(len(rows), np.int64)
    for first in range(0, rows.shape[1], 4):  # a place among up to 2**31 rows and four bytes fit into 63 bits
        for column in rows[:, first : first + 4].T:
            which = which << 8 | column
        which = np.unique(which, return_inverse=True)[1]
    places = np.zeros(int(which.max()) + 1, np.int64)
    places[which] = np.arange(len(rows))
    return rows[places], which


def _rounded(book: Bytes, counts: IntArray) -> Bytes:
    """Return the row of each row's centre, uint8 of the same shape; unknown stays unknown.

    Args:
        book: uint8 (k, classes), different rows.
        counts: int64 (k,): people with this row.
    """
    known = book[:, 0] != UNKNOWN
    rows, people = book[known], counts[known]
    weights = falling_powers(STEPS_PER_NAT, UNKNOWN + 1, one=_ONE)[rows]
    logs = logarithm(weights * _CERTAIN // weights.sum(axis=1, keepdims=True) + _MIXED) >> _FINE
    places = (logs - logs.min()).astype(np.float64)
    chosen = [int(people.argmax())]
    apart = np.full(len(places), np.inf)
    while len(chosen) < MOST_ROWS - 1:
        apart = np.minimum(apart, ((places - places[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(apart.argmax()))
    centres = places[chosen]
    for _ in range(_ROUNDS):
        centres = _means(places, people, _nearest(places, centres), centres)
    group = _nearest(places, centres)
    means = _means(rows, people, group, np.zeros((len(centres), rows.shape[1])))
    found = book.copy()
    found[known] = (means - means.min(axis=1, keepdims=True))[group].astype(np.uint8)
    return found


def _means(rows: NDArray, people: IntArray, group: IntArray, empty: DoubleArray) -> DoubleArray:
    """Return the mean row of each group in whole numbers, and ``empty``'s of a group that nobody is in."""
    size = np.bincount(group, people, len(empty))
    sums = np.stack([np.bincount(group, people * column, len(empty)) for column in rows.T.astype(np.float64)], axis=1)
    return np.asarray(np.where(size[:, None] > 0, np.rint(sums / np.maximum(size, 1)[:, None]), empty))


def _nearest(places: DoubleArray, centres: DoubleArray) -> IntArray:
    """int64 (k,): the centre that is nearest to each place, the first of several."""
    lengths = (centres**2).sum(axis=1)
    parts = np.array_split(places, 1 + len(places) // 10_000)
    return np.concatenate([(lengths - 2 * (part @ centres.T)).argmin(axis=1) for part in parts])
