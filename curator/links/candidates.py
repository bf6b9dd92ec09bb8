"""Pairs of rows whose cosine may reach a bound close to 1, without a look at all pairs.

A HoGS pair without a reported one needs such a cosine. There are two exact filters. Each may
return pairs below the bound; neither loses a pair that reaches it.

*Blocks* (bits). Rows with a and b ones and cosine s differ in a + b - 2 s sqrt(a b)
positions. With s >= s0 that is at most r = floor(2 a_max (1 - s0)), since min(a, b) >= s0^2
max(a, b) and the number grows with the smaller of the two. Cut the columns into r + 1
blocks: a pair that differs in at most r positions agrees exactly in one of them. r = 0
leaves identical rows only.

*Prefixes* (any rows). Order the columns from the rarest. A row's prefix ends where the rest
of the row has a norm below s0 times the row's. If two rows share no column of either prefix,
all shared columns lie in the rest, and by Cauchy-Schwarz their cosine is below s0. So
the rarest shared column lies in both prefixes (Chaudhuri et al. 2006; Bayardo
et al. 2007).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ldpsim.curator.links.similarity import BitRows, Keys, PairBatch, Rows
from ldpsim.devices.array_types import IntArray

# Above this number of entries, sorting takes more memory and time than the filter saves.
_MOST_ENTRIES = 1 << 22
# Far above the rounding errors of s and of the bound.
_ROUNDING = 1e-12
_GROUPED_AT_ONCE = 1 << 20


def candidates(rows: Rows, gap: float, limit: float) -> Iterator[PairBatch] | None:
    """Return batches of pairs (left < right) that hold every pair with cosine >= 1 - gap.

    Args:
        rows: The rows; empty ones are in no pair.
        gap: 1 - s0, at least 0.
        limit: Largest number of pairs worth looking at.

    Returns:
        Batches, in which a pair may occur more than once; None if every filter
        would return more than ``limit`` pairs.
    """
    gap += _ROUNDING
    people = np.flatnonzero(~rows.empty)
    if len(people) < 2:
        return iter(())
    best = _blocks(rows, people, gap) if isinstance(rows, BitRows) else None
    count = np.inf if best is None else _number_of_pairs(best)
    if count > min(limit, 8 * len(people)) and rows.entries <= _MOST_ENTRIES:
        other = _prefixes(rows, gap)
        if (number := _number_of_pairs(other)) < count:
            best, count = other, number
    return None if best is None or count > limit else _pairs(best)


# Members with keys, list by list; two members of one key are a candidate pair.
_Groups = Callable[[], Iterator[tuple[Keys, IntArray]]]


def _number_of_pairs(groups: _Groups) -> float:
    """Return the number of candidate pairs, with repetitions."""
    sizes = [np.unique(keys, return_counts=True)[1].astype(np.float64) for keys, _ in groups()]
    return float(sum((size * (size - 1) / 2).sum() for size in sizes))


def _blocks(rows: BitRows, people: IntArray, gap: float) -> _Groups | None:
    """Return hashes of the rows' content in each block of columns; None where there are more blocks than columns."""
    differ, width = 2 * float(rows.ones.max()) * gap, rows.packed.shape[1]
    if differ >= width:
        return None
    edges = np.linspace(0, width, int(differ) + 2).astype(np.int64)
    # Equal rows have equal hashes; a collision of others only adds a candidate.
    odd: Any = np.random.default_rng(0).integers(1 << 63, size=width, dtype=np.uint64) * np.uint64(2) + np.uint64(1)

    def lists() -> Iterator[tuple[Keys, IntArray]]:
        for first, last in zip(edges[:-1], edges[1:], strict=True):
            keys = np.zeros(len(people), np.uint64)
            for column in range(first, last):
                keys += rows.packed[people, column].astype(np.uint64) * odd[column]
            yield keys, people

    return lists


def _prefixes(rows: Rows, gap: float) -> _Groups:
    """Return the (column, row) entries of all rows' prefixes."""
    matrix = rows.sparse()
    holders = np.bincount(matrix.indices, minlength=matrix.shape[1])
    rank = np.empty(len(holders), np.int64)
    rank[np.argsort(holders, kind="stable")] = np.arange(len(holders))
    row_of = np.repeat(np.arange(len(rows)), np.diff(matrix.indptr))
    order = np.lexsort((rank[matrix.indices], row_of))
    squares = matrix.data[order] ** 2
    squares /= np.bincount(row_of, weights=squares, minlength=len(rows))[row_of]
    before = np.cumsum(squares) - squares
    before -= before[matrix.indptr[:-1][row_of]]
    # The entry is needed while it and what follows have norm s0 or more.
    needed = 1 - before >= (1 - gap) ** 2 - 1e-9
    keys, members = matrix.indices[order][needed].astype(np.uint64), row_of[needed]
    return lambda: iter([(keys, members)])


def _pairs(groups: _Groups) -> Iterator[PairBatch]:
    for keys, members in groups():
        order = np.argsort(keys, kind="stable")
        keys, members = keys[order], members[order]
        places = np.flatnonzero(keys[1:] == keys[:-1])  # members whose successor has the same key
        distance = 1
        while len(places):
            for start in range(0, len(places), _GROUPED_AT_ONCE):
                part = places[start : start + _GROUPED_AT_ONCE]
                one, other = members[part], members[part + distance]
                yield np.minimum(one, other), np.maximum(one, other)
            distance += 1
            places = places[places + distance < len(keys)]
            places = places[keys[places + distance] == keys[places]]
