"""Link probabilities of HoGS, Algorithm 2, lines 2 to 9, without an n x n array of bytes or floats.

Two reports about a pair, t of them a one, have the likelihoods of eqs. 7 and 8 with the ratio
l' / l = ratio^(2 t - 2), ratio = p_1 / (1 - p_1), where p_1 is the flip probability of the threshold
that the devices used. With r reports about the pair, eq. 9 is therefore

    P = s / (s + (1 - s) ratio^(2 t - r)).

The exponent is 2, 0 or -2 for two reports, and 1 or -1 for one (the other device is silent, or
reporting is one-end). A pair without a report is never an edge. s = 1 gives P = 1 whatever the
reports say, and s = 0 gives P = 0.

Nearly all pairs have exponent -2 (or -1). They need s >= s0 with s0 close to 1 and come from
:mod:`ldpsim.curator.links.similarity`. The pairs with a one are computed one by one. If both
together are a large share of all pairs, tiles of all pairs are computed instead. Every path ends
in :func:`edge_posterior` of :meth:`ldpsim.curator.links.similarity.BitRows.cosine`, so all paths return
the same pairs with the same P as the dense algorithm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ldpsim.curator.links.candidates import candidates
from ldpsim.curator.links.similarity import Rows, packed_ones
from ldpsim.curator.reports.pairs import as_numbers, both_reports
from ldpsim.curator.reports.rows import FlippedRows
from ldpsim.devices.array_types import BoolArray, FloatArray, IntArray

TILE = 1024
_ROWS_AT_ONCE = 2048


@dataclass(frozen=True, eq=False)
class WeightedLinks:
    """Likely pairs with their probability, sorted by left and then right end, left < right.

    Args:
        left, right: int64 (m,), the pairs.
        probability: float64 (m,), P of each pair.
        looked_at: Number of similarities that were computed; a pair may count more than once.
        path: ``pairs`` or ``tiles``.
    """

    left: IntArray = field(repr=False)
    right: IntArray = field(repr=False)
    probability: FloatArray = field(repr=False)
    looked_at: int
    path: str

    def __len__(self) -> int:
        return len(self.left)

    def at_least(self, probability: float) -> WeightedLinks:
        """Return the pairs with P >= ``probability``."""
        pairs = self.probability >= probability
        return replace(self, left=self.left[pairs], right=self.right[pairs], probability=self.probability[pairs])


def edge_posterior(cosine: FloatArray, exponent: NDArray[np.int8], ratio: float) -> FloatArray:
    """P of eq. 9 for each pair's similarity s and exponent 2 t - r; float64, same shape.

    >>> edge_posterior(np.array([0.5, 0.5, 0.5]), np.array([-2, 0, 2], np.int8), ratio=0.5)
    array([0.2, 0.5, 0.8])
    """
    odds = np.array([ratio**power for power in (-2, -1, 0, 1, 2)])[exponent + 2]
    against = (1 - cosine) * odds
    total = cosine + against
    return np.divide(cosine, total, out=np.zeros_like(total), where=total > 0)


def likely_links(bits: FlippedRows, rows: Rows, least: float, *, path: str = "auto") -> WeightedLinks:
    """Return every pair with P >= least.

    Args:
        bits: The adjacency reports.
        rows: Feature rows of the same nodes.
        least: Smallest P of interest, above 0.
        path: ``pairs``, ``tiles`` or ``auto`` (the faster one); the result is the same.
    """
    n = len(rows)
    everything = n * (n - 1) / 2
    limit = rows.dense_share * everything
    unreported = None
    # csr memory and time of the pairs path grow with the ones, those of the tiles do not
    if path == "pairs" or (path == "auto" and bits.ones.nnz <= limit):
        unreported = _near_duplicates(bits, rows, least, np.inf if path == "pairs" else limit - bits.ones.nnz)
    tiled = unreported is None
    parts = _tiles(bits, rows, least) if unreported is None else chain(_with_a_one(bits), unreported)
    links: list[tuple[IntArray, IntArray, FloatArray]] = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    looked_at = int(everything) if tiled else 0
    for left, right, exponent in parts:
        looked_at += len(left)
        probability = edge_posterior(rows.cosine(left, right), exponent, bits.odds)
        pairs = probability >= least
        links.append((left[pairs], right[pairs], probability[pairs]))
    left, right, probability = (np.concatenate(column) for column in zip(*links, strict=True))
    _, first = np.unique(left * n + right, return_index=True)
    return WeightedLinks(left[first], right[first], probability[first], looked_at,
                         "tiles" if tiled else "pairs")  # fmt: skip


_Part = tuple[IntArray, IntArray, NDArray[np.int8]]


def _with_a_one(bits: FlippedRows) -> Iterator[_Part]:
    """Yield all pairs about which at least one end reported a one."""
    for top, first, own, other in both_reports(as_numbers(bits.ones), _ROWS_AT_ONCE):
        both = (own + other).tocoo()
        left, right = both.row.astype(np.int64) + top, both.col.astype(np.int64) + first
        upper = right > left
        left, right = left[upper], right[upper]
        yield left, right, (2 * both.data[upper] - bits.count(left, right)).astype(np.int8)


def _near_duplicates(bits: FlippedRows, rows: Rows, least: float, limit: float) -> Iterator[_Part] | None:
    """Return the pairs with reports but without a one that may reach ``least``; None for too many."""
    similar = bits.reported[~rows.empty]
    if len(similar) < 2 or not similar.any():
        return iter(())
    exponent = -1 if bits.one_end or not similar.all() else -2
    # P >= least needs s >= s0; 1 - s0 without cancellation:
    gap = (1 - least) / (1 - least + least * bits.odds**exponent)
    batches = candidates(rows, gap, limit)
    return None if batches is None else _unreported(bits, rows, 1 - gap, batches)


def _unreported(
    bits: FlippedRows, rows: Rows, bound: float, batches: Iterator[tuple[IntArray, IntArray]]
) -> Iterator[_Part]:
    for left, right in batches:
        close = rows.cosine(left, right) >= bound - 1e-9
        left, right = left[close], right[close]
        reports = bits.count(left, right)
        fresh = reports > 0
        if fresh.any():
            fresh &= ~_entries(bits.ones, left, right) & ~_entries(bits.ones, right, left)
        yield left[fresh], right[fresh], -reports[fresh]


def _entries(ones: csr_array, rows: IntArray, columns: IntArray) -> BoolArray:
    """bool (m,): whether (rows[k], columns[k]) is a one."""
    return np.asarray(ones[rows, columns], dtype=np.bool_).ravel() if len(rows) else np.zeros(0, np.bool_)


def _tiles(bits: FlippedRows, rows: Rows, least: float) -> Iterator[_Part]:
    """Yield the pairs that may reach ``least`` by the block product's similarity, tile by tile."""
    n = len(rows)
    packed = packed_ones(bits.ones)
    for top in range(0, n, TILE):
        lines = slice(top, min(top + TILE, n))
        for side in range(top, n, TILE):
            columns = slice(side, min(side + TILE, n))
            ones = _tile(packed, lines, columns) + _tile(packed, columns, lines).T
            own = bits.reported[columns].astype(np.int8)
            reports = np.broadcast_to(own, ones.shape)
            if not bits.one_end:
                reports = own + bits.reported[lines].astype(np.int8)[:, None]
            exponent = 2 * ones - reports
            cosine = np.minimum(rows.block(lines, columns) + rows.slack, 1)
            likely = (edge_posterior(cosine, exponent, bits.odds) >= least) & (reports > 0)
            if top == side:
                likely = np.triu(likely, 1)
            left, right = np.nonzero(likely)
            yield left + top, right + side, exponent[left, right]


def _tile(packed: NDArray[np.uint8], rows: slice, columns: slice) -> NDArray[np.int8]:
    # TILE is a multiple of 8, so every tile begins at a whole byte.
    part = packed[rows, columns.start // 8 : (columns.stop + 7) // 8]
    return np.unpackbits(part, axis=1, count=columns.stop - columns.start).view(np.int8)
