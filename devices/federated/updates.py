"""Weights of many parties after one round, kept as what changed, with the bits of each one's message.

A device's steps change W1 in the columns of its own features alone. So the weights of many devices are one shared W1,
the rows of it that each device changed, and (b1, W2, b2) of each device. Weights that differ everywhere (those of
silos, updates under noise, decoded messages) are kept as whole rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.network import usable

_ROWS = 256  # rows that are computed at a time


@dataclass(frozen=True, eq=False)
class Updates:
    """Weights of n parties, of ``size`` numbers each.

    Args:
        base: (d, hidden): W1 of all parties, where they did not change it; d is 0 where whole rows are kept.
        starts: int64 (n + 1,): party k changed the rows ``columns[starts[k] : starts[k + 1]]`` of W1.
        columns: Numbers of these rows; in a party one stands once.
        entries: (columns, hidden): the rows after the change.
        rest: (n, size - d hidden): all numbers behind W1.
    """

    base: FloatArray = field(repr=False)
    starts: NDArray[np.int64] = field(repr=False)
    columns: NDArray[np.int64] = field(repr=False)
    entries: FloatArray = field(repr=False)
    rest: FloatArray = field(repr=False)

    @classmethod
    def whole(cls, rows: FloatArray) -> Updates:
        """Return the updates of whole rows, (n, size)."""
        nothing = np.zeros((0, 1), rows.dtype)
        return cls(nothing, np.zeros(len(rows) + 1, np.int64), np.zeros(0, np.int64), nothing, rows)

    @classmethod
    def joined(cls, parts: Sequence[Updates]) -> Updates:
        """Return the parties of several updates, one after another."""
        first = parts[0]
        if len(parts) == 1:
            return first
        if any(part.base is not first.base and not np.array_equal(part.base, first.base) for part in parts):
            return cls.whole(np.stack([row for part in parts for row in part]))
        counts = np.concatenate([np.diff(part.starts) for part in parts])
        columns, entries, rest = (np.concatenate([getattr(part, name) for part in parts])
                                  for name in ("columns", "entries", "rest"))  # fmt: skip
        return cls(first.base, np.concatenate([[0], np.cumsum(counts)]), columns, entries, rest)

    def __len__(self) -> int:
        return len(self.rest)

    def __iter__(self) -> Iterator[FloatArray]:
        """Yield the weights of each party, (size,)."""
        return (self.row(place) for place in range(len(self)))

    @property
    def size(self) -> int:
        """Number of weights of a party."""
        return self.base.size + self.rest.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """Type of the weights."""
        return self.rest.dtype

    def row(self, place: int) -> FloatArray:
        """Return the weights of one party, (size,): the numbers of its message."""
        flat = np.empty(self.size, self.dtype)
        w1, changed = flat[: self.base.size].reshape(self.base.shape), slice(*self.starts[place : place + 2])
        w1[...] = self.base
        w1[self.columns[changed]] = self.entries[changed]
        flat[self.base.size :] = self.rest[place]
        return flat

    def usable(self) -> Updates:
        """Return the nearest weights that a message may have (:func:`ldpsim.devices.network.usable`)."""
        return replace(self, base=usable(self.base), entries=usable(self.entries), rest=usable(self.rest))

    def weighted(self, factors: FloatArray) -> FloatArray:
        """Return the sum of the parties' weights times their factors, (n,); float (size,) of the weights' type.

        Where whole rows are kept, rounding and order are those of Flower's own loop over messages.
        """
        from scipy.sparse import csr_array

        each = factors.astype(self.dtype)[:, None]
        rest = np.zeros((1, self.rest.shape[1]), self.dtype)
        for at in range(0, len(self), _ROWS):
            part = slice(at, at + _ROWS)
            rest = np.concatenate([rest, self.rest[part] * each[part]]).sum(axis=0, keepdims=True)
        if not self.base.size:
            return rest[0]
        own, slots = np.repeat(factors, np.diff(self.starts)), np.arange(len(self.columns))
        spread = csr_array((own, (self.columns, slots)), shape=(len(self.base), len(slots)))
        w1 = factors.sum() * self.base + spread @ (self.entries - self.base[self.columns])
        return np.concatenate([w1.ravel().astype(self.dtype), rest[0]])

    def mean(self, people: NDArray[np.int64]) -> FloatArray:
        """Return the mean of the parties' weights, weighted by their numbers of people, (size,)."""
        return self.weighted(people / people.sum())

    def distances(self, at: FloatArray) -> FloatArray:
        """Return the L2 distance of each party's weights from given ones, float64 (n,)."""
        if self.base.size and not np.array_equal(self.base.ravel(), at[: self.base.size]):
            return Updates.whole(np.stack(list(self))).distances(at)
        moves = (self.entries - self.base[self.columns]).astype(np.float64)
        owner = np.repeat(np.arange(len(self)), np.diff(self.starts))
        squares = np.bincount(owner, (moves * moves).sum(axis=1), len(self)).astype(np.float64)
        for place, row in enumerate(self.rest):
            move = (row - at[self.base.size :]).astype(np.float64)
            squares[place] += move @ move
        return np.sqrt(squares)

    def moved(self, at: FloatArray, factors: FloatArray) -> Updates:
        """Return ``at`` plus each party's difference from it times the party's factor, (n,)."""
        if self.base.size and not np.array_equal(self.base.ravel(), at[: self.base.size]):
            return Updates.whole(np.stack(list(self))).moved(at, factors)
        each = factors.astype(self.dtype)[:, None]
        own, before = np.repeat(each, np.diff(self.starts), axis=0), self.base[self.columns]
        rest = at[self.base.size :]
        return replace(self, entries=before + own * (self.entries - before), rest=rest + each * (self.rest - rest))
