"""Rows of bits in the reports, under noise that flips each of them alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from curator.reports.reports import Reports
from devices.array_types import IntArray


@dataclass(frozen=True)
class FlippedRows:
    """Law of reported rows of bits.

    Args:
        flip: Probability that a bit is flipped; 0 for a row in clear.
        odds: flip / (1 - flip), exactly that of the threshold that the devices used.
        one_end: Person i reports about j < i only.
    """

    flip: float
    odds: float
    one_end: bool

    def lengths(self, n: int) -> IntArray:
        """int64 (n,): number of bits in each row of n people."""
        return np.arange(n) if self.one_end else np.full(n, n - 1)


def flipped_rows(reports: Reports) -> FlippedRows | None:
    """Return the rows of bits; None if the reports hold none, or if the flip probability is not known."""
    if reports.adjacency is None:
        return None
    mechanism = reports.source("adjacency")
    flip, odds = mechanism.flip_probability, mechanism.flip_odds
    if flip is None or odds is None:
        return None
    return FlippedRows(flip, odds, mechanism.reporting == "one-end")


def noisy_rows_of_bits(reports: Reports) -> FlippedRows:
    """Return the rows of bits, under noise.

    Raises:
        ValueError: for reports without rows of bits, or with rows under another noise or none.
    """
    reports.needed("adjacency")
    rows = flipped_rows(reports)
    if rows is None or not rows.flip:
        name = reports.source("adjacency").name
        raise ValueError(f"the reports hold no neighbour lists whose bits are flipped alike: {name} has another law")
    return rows
