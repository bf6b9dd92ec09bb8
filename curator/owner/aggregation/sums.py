"""Sums over neighbours: who sends to whom, rows of norm 1, and Gaussian noise on the sums.

A person on a list longer than the cap sends to some of the list only. Which ones may not depend on who else is there:
if it did, one person who leaves would make others send to somebody else, and the sums would move without limit. So each
person sends to the first ones of the own list in a public random order of all ids, whether these people take part or
not. One record then moves as many sums as the cap says, and no more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ldpsim.devices.array_types import IntArray

FloatRows = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class HandedLists:
    """Records of people as an owner has them; who is silent has no list, no label and features of zeros.

    Args:
        features: float32 scipy CSR (n, d).
        labels: int64 (n,), -1 where a person has none.
        senders, names: int64 (m,): every entry of every list, the person who holds the list first.
    """

    features: Any = field(repr=False)
    labels: IntArray = field(repr=False)
    senders: IntArray = field(repr=False)
    names: IntArray = field(repr=False)

    @property
    def longest(self) -> int:
        """Length of the longest list, without self-loops and repeated names."""
        codes = np.unique((self.senders * len(self.labels) + self.names)[self.senders != self.names])
        return int(np.bincount(codes // len(self.labels)).max()) if len(codes) else 0

    def arcs(self, order_seed: int, cap: int | None) -> csr_array:
        """Return who sends to whom, as :func:`sent_and_listed`, with at most ``cap`` people from each list."""
        place = public_order(len(self.labels), order_seed)
        sent = kept_names(self.senders, self.names, place, cap)
        return sent_and_listed(*sent, (self.senders, self.names), len(self.labels))


def public_order(people: int, seed: int) -> IntArray:
    """int64 (people,): the place of each id in a random order that depends on the seed alone."""
    place = np.empty(people, np.int64)
    place[np.random.Generator(np.random.PCG64([seed, *b"order"])).permutation(people)] = np.arange(people)
    return place


def kept_names(senders: IntArray, names: IntArray, place: IntArray, cap: int | None) -> tuple[IntArray, IntArray]:
    """Return (senders, names) of what is sent: no self-loop, nothing twice, the first ``cap`` of each list.

    Args:
        senders, names: int64 (m,): every entry of every list, the person who holds the list first.
        place: int64 (n,): the public order.
        cap: Largest number of people that one person sends to; None: no limit.
    """
    n = len(place)
    others = senders != names
    codes = np.unique(senders[others] * n + place[names[others]])
    owners, places = codes // n, codes % n
    if cap is not None:
        rank = np.arange(len(codes)) - np.searchsorted(owners, owners)
        owners, places = owners[rank < cap], places[rank < cap]
    back = np.empty(n, np.int64)
    back[place] = np.arange(n)
    return owners, back[places]


def sent_and_listed(senders: IntArray, names: IntArray, listed: tuple[IntArray, IntArray], people: int) -> csr_array:
    """Float32 CSR (n, n): entry (i, j) is 1 if j sends to i, and i lists j.

    Args:
        senders, names: What is sent, as :func:`kept_names` returns it.
        listed: Every entry of every list, (the person who holds the list, the name).
        people: Number n of people.
    """
    matches = np.isin(names * people + senders, listed[0] * people + listed[1])
    ends = names[matches], senders[matches]
    return csr_array((np.ones(int(matches.sum()), np.float32), ends), shape=(people, people))


def rows_of_norm_1(rows: FloatRows) -> FloatRows:
    """Return the rows scaled to norm 1; a row of zeros stays.

    A row with a number that is not finite becomes zeros. A network whose training diverged gives such rows. No noise
    would hide one of them in a sum.
    """
    finite = np.isfinite(rows).all(axis=1, keepdims=True)
    norm = np.sqrt((np.where(finite, rows, 0).astype(np.float64) ** 2).sum(axis=1, keepdims=True))
    scaled = np.divide(rows, norm, out=np.zeros(rows.shape, np.float64), where=norm > 0)
    return np.asarray(scaled, np.float32)


def noisy_sums(arcs: Any, rows: FloatRows, deviation: float, draws: np.random.Generator) -> FloatRows:
    """float32 (n, k): for each person the sum of the senders' rows, with Gaussian noise of ``deviation`` on each entry.

    Args:
        arcs: float32 CSR (n, n) of :func:`sent_and_listed`.
        rows: float32 (n, k), of norm 1 at most.
        deviation: Of the noise; 0: none.
        draws: Source of the noise.
    """
    sums = np.asarray(arcs @ rows, np.float64)
    return np.asarray(sums + deviation * draws.standard_normal(sums.shape) if deviation else sums, np.float32)
