"""Rows of bits in the reports, under noise that flips each of them alike."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.array_types import BoolArray, IntArray
from ldpsim.devices.mechanisms import AdjacencyBits


class PairReports:
    """Base of dataclasses about reported pairs: which people reported them, and how many reports a pair has.

    Args:
        reported: bool (n,): the people who reported their list.
        one_end: Person i reports about j < i only.
    """

    reported: BoolArray
    one_end: bool

    @property
    def n(self) -> int:
        """Number of people."""
        return len(self.reported)

    def count(self, left: IntArray, right: IntArray) -> NDArray[np.int8]:
        """int8 (k,): number of reports about each pair, left < right."""
        by_right = self.reported[right].astype(np.int8)
        return by_right if self.one_end else by_right + self.reported[left]


@dataclass(frozen=True, eq=False)
class FlippedRows(PairReports):
    """Reported rows of bits, and the flip probability of their noise.

    Args:
        ones: bool CSR (n, n), row i the ones that i reported.
        reported, one_end: As in :class:`PairReports`.
        flip: Probability that a bit is flipped; 0 for a row in clear.
        odds: flip / (1 - flip), exactly that of the threshold that the devices used.
    """

    ones: csr_array = field(repr=False)
    reported: BoolArray = field(repr=False)
    one_end: bool
    flip: float
    odds: float

    @property
    def lengths(self) -> IntArray:
        """int64 (n,): number of bits in each row."""
        return np.arange(self.n) if self.one_end else np.full(self.n, self.n - 1)

    @property
    def weights(self) -> IntArray:
        """int64 (n,): number of ones in each row."""
        return np.diff(self.ones.indptr).astype(np.int64)


def flipped_rows(reports: Reports) -> FlippedRows | None:
    """Return the rows of bits; None if the reports hold none, or if the flip probability is not known."""
    if reports.adjacency is None:
        return None
    mechanism = reports.source("adjacency")
    if not isinstance(mechanism, AdjacencyBits) or mechanism.flip_probability is None or mechanism.flip_odds is None:
        return None
    reported, one_end = reports.reported("adjacency"), mechanism.reporting == "one-end"
    return FlippedRows(reports.adjacency, reported, one_end, mechanism.flip_probability, mechanism.flip_odds)


def noisy_rows_of_bits(reports: Reports) -> FlippedRows:
    """Return the rows of bits, under noise.

    Raises:
        ValueError: for reports without rows of bits, or with rows under another noise or none.
    """
    reports.needed("adjacency")
    rows = flipped_rows(reports)
    if rows is None or not rows.flip:
        name = reports.source("adjacency").name
        raise ValueError(f"the reports hold no neighbour lists whose bits are flipped alike: {name} has other noise")
    return rows
