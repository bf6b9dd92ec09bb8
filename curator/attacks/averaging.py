"""Sums of repeated reports: log-odds of bits, log-likelihoods of labels.

T reports of one bit, report r of loss eps_r, weigh up to the log-odds

    sum_r eps_r (2 y_r - 1),

and the sign is the maximum-likelihood guess; with equal budgets that is the majority. A
label's guess is the category of the largest summed log-likelihood; with equal budgets, the
plurality. A coin decides between equals: of k equals the right one counts 1/k. What one
report weighs is known to its mechanism (``Mechanism.weight``, ``Mechanism.evidence``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import BoolArray, FloatArray


class BitTally:
    """Log-odds of n rows of bits, added up report by report.

    Reports of one weight are counted in whole numbers, so that a tie is exactly 0.

    Args:
        rows, columns: Shape of the guessed matrix.
    """

    def __init__(self, rows: int, columns: int) -> None:
        self._ones = np.zeros((rows, columns), np.int32)
        self._reports = np.zeros((rows, 1), np.int32)
        self._weight = 0.0
        self._folded: FloatArray | None = None

    def add(self, row: int, bits: BoolArray, weight: float, *, skip: int | None = None) -> None:
        """Add a report of one bit an entry, of equal weight.

        Args:
            row: The reporter.
            bits: bool, the columns' bits in order.
            weight: Log-odds of one bit.
            skip: A column that the report leaves out (a row's diagonal).
        """
        if weight != self._weight:
            self._fold()
            self._weight = weight
        ones = self._ones[row]
        if skip is None:
            ones[: len(bits)] += bits
        else:
            ones[:skip] += bits[:skip]
            ones[skip + 1 : len(bits) + 1] += bits[skip:]
        self._reports[row] += 1

    def add_evidence(self, row: int, odds: FloatArray, *, skip: int | None = None) -> None:
        """Add log-odds of any kind, one number a column (``Mechanism.evidence``)."""
        self._fold()
        assert self._folded is not None
        if skip is None:
            self._folded[row, : len(odds)] += odds
        else:
            self._folded[row, :skip] += odds[:skip]
            self._folded[row, skip + 1 : len(odds) + 1] += odds[skip:]

    def _fold(self) -> None:
        self._folded = self.log_odds()
        self._ones[:] = 0
        self._reports[:] = 0

    def log_odds(self) -> FloatArray:
        """float64 (rows, columns): above 0 where a 1 is the likelier value, 0 for a tie."""
        counted: FloatArray = self._weight * (2.0 * self._ones - self._reports).astype(np.float64)
        return counted if self._folded is None else self._folded + counted


class LabelTally:
    """Log-likelihoods of n labels, added up report by report."""

    def __init__(self, rows: int, categories: int) -> None:
        self._counts = np.zeros((rows, categories), np.int32)
        self._weight = 0.0
        self._folded: FloatArray | None = None

    def add(self, row: int, report: int, weight: float) -> None:
        """Add a report of one category, of this ``Mechanism.weight``."""
        if weight != self._weight:
            self._folded, self._weight = self.likelihoods(), weight
            self._counts[:] = 0
        self._counts[row, report] += 1

    def add_evidence(self, row: int, likelihood: FloatArray) -> None:
        """Add log-likelihoods of any kind, one number a category (``Mechanism.evidence``)."""
        if self._folded is None:
            self._folded = np.zeros(self._counts.shape)
        self._folded[row] += likelihood

    def likelihoods(self) -> FloatArray:
        """float64 (rows, categories): log-likelihoods up to a constant a row."""
        counted: FloatArray = self._weight * self._counts.astype(np.float64)
        return counted if self._folded is None else self._folded + counted


def recovered_bits(log_odds: FloatArray, truth: BoolArray, among: BoolArray | None = None) -> float:
    """Return the share of bits whose sign is right; a tie counts half.

    Args:
        log_odds: float (n, m).
        truth: bool (n, m).
        among: bool (n, m), True for entries that count; None for all.
    """
    score = np.where(log_odds == 0, 0.5, (log_odds > 0) == truth)
    return float(score.mean() if among is None else score[among].mean())


def recovered_labels(likelihoods: FloatArray, truth: NDArray[np.int64]) -> float:
    """Return the share of labels that are the likeliest category; of k equals each counts 1/k.

    People without a label (-1) do not count.
    """
    known = np.flatnonzero(truth >= 0)
    rows = likelihoods[known]
    best = np.isclose(rows, rows.max(axis=1, keepdims=True), rtol=0, atol=1e-9)
    return float(np.mean(best[np.arange(len(known)), truth[known]] / best.sum(axis=1)))
