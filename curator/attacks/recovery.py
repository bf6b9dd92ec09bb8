"""Sums of repeated reports: log-odds of bits, log-likelihoods of labels.

T reports of one bit, report r of loss eps_r, weigh up to the log-odds

    sum_r eps_r (2 y_r - 1),

and the sign is the maximum-likelihood guess; with equal budgets that is the majority. A
label's guess is the category of the largest summed log-likelihood; with equal budgets, the
plurality. A coin decides between equals: of k equals the right one counts 1/k. What one
report weighs is known to its mechanism (``Mechanism.weight``, ``Mechanism.evidence``).

Recovery from T independent reports: exact success rates of maximum likelihood without a prior.

A value that may be either of two is guessed by the majority of T reports, each right with
probability r. A coin decides a tie:

    Pr[right] = Pr[Bin(T, r) > T/2] + Pr[Bin(T, r) = T/2] / 2.

A label under GRR over g categories (truth p, each other q) is guessed by the plurality, and
chance decides between k equals. Both are the best guesses without a prior.

Edge membership: pairs that are linked, by the reports of both ends and a prior.

Each end's reports add up to log-odds (:mod:`averaging`); those of the two ends are of the
same bit, so they add, and so does the logit of the prior:

    log-odds of an edge = sum over reports of eps_r (2 y_r - 1) + logit(density).

Edges are rare, so a pair is named only if this exceeds 0. The result is compared with an
attacker who knows the prior alone. That attacker's best guess is "no edge" for every pair. If
it names as many pairs at random, its precision is the density.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom, poisson

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


def constant_guess(counts: ArrayLike) -> float:
    """Share of values that one guess, the same for all, gets right without any report: that of the most frequent value.

    Of the entries of neighbour lists the guess is "no neighbour", and the share is 1 - density.

    Args:
        counts: Number of times that each value occurs, (values,).

    >>> constant_guess([966, 34])
    0.966
    """
    each = np.asarray(counts, np.float64)
    return float(each.max(initial=0) / max(each.sum(), 1))


def bit_recovery(right: ArrayLike, asks: int) -> FloatArray:
    """Pr[a majority of ``asks`` reports is right], each right with probability ``right`` (any shape).

    Raises:
        ValueError: for fewer than one ask.
    """
    _check(asks)
    p = np.asarray(right, np.float64)
    won: Any = binom.sf(asks // 2, asks, p)
    return won + binom.pmf(asks // 2, asks, p) / 2 if asks % 2 == 0 else won


def label_recovery(truth: float, categories: int, asks: int) -> float:
    """Pr[the plurality of ``asks`` GRR reports is the truth], ``truth`` = Pr[a report is the truth].

    Given that a reports are the truth, the others fall evenly on g - 1 categories. Their
    counts are independent Poisson numbers given their sum, so that the chance that none
    exceeds a, and k equal it, is a coefficient of a product of g - 1 truncated series.

    Raises:
        ValueError: for fewer than one ask, or fewer than two categories.
    """
    _check(asks)
    if categories < 2:
        raise ValueError(f"a label needs at least 2 categories, not {categories}")
    total = 0.0
    for hits, weight in enumerate(binom.pmf(np.arange(asks + 1), asks, truth)):
        if hits and weight > 1e-14:  # what is left out adds up to less than 1e-11
            total += weight * _others_behind(hits, asks - hits, categories - 1)
    return float(min(total, 1.0))


def _others_behind(hits: int, rest: int, others: int) -> float:
    """Sum over k of Pr[k of the others have ``hits`` reports, the rest fewer] / (k + 1)."""
    if rest < hits:
        return 1.0
    mean = rest / others
    below = poisson.pmf(np.arange(hits), mean)
    equal = float(poisson.pmf(hits, mean))
    size = 1 << (max(rest, others * (hits - 1)) + 1).bit_length()
    spectrum = np.fft.rfft(below, size)
    found = 0.0
    for ties in range(min(others, rest // hits) + 1):
        left = rest - ties * hits
        power = np.fft.irfft(spectrum ** (others - ties), size)[left] if ties < others else float(left == 0)
        found += math.comb(others, ties) * equal**ties / (ties + 1) * max(power, 0.0)
    return min(found / float(poisson.pmf(rest, rest)), 1.0)


def _check(asks: int) -> None:
    if asks < 1:
        raise ValueError(f"a recovery needs at least one report, not {asks}")


def pair_odds(log_odds: FloatArray) -> FloatArray:
    """float64 (pairs,): both ends' log-odds added, for i < j in the order of ``np.triu_indices``.

    Args:
        log_odds: (n, n), row i the log-odds of what i reported; 0 where it reported nothing.
    """
    upper = np.triu_indices(len(log_odds), 1)
    return np.asarray(log_odds[upper] + log_odds.T[upper], np.float64)


def attack_edges(log_odds: FloatArray, truth: NDArray[np.bool_]) -> dict[str, float | None]:
    """Name edges from (n, n) log-odds and the density, which is public in most data sets; compare with the truth.

    Args:
        log_odds: As for :func:`pair_odds`.
        truth: bool (n, n), symmetric.

    Returns:
        Precision (None where no pair is named) and recall of the pairs that are named; the share of edges among the
        m pairs of the largest log-odds, m the number of edges (``edge_top``); and precision and recall of naming as
        many pairs by the prior alone.

    Raises:
        ValueError: where the graph has no edge or every one.
    """
    odds = pair_odds(log_odds)
    linked = truth[np.triu_indices(len(truth), 1)]
    edges, pairs = int(linked.sum()), len(linked)
    if not 0 < edges < pairs:
        raise ValueError(f"edges cannot be attacked in a graph with {edges} of {pairs} of them")
    prior = edges / pairs
    named = odds + math.log(prior / (1 - prior)) > 0
    right = int(np.count_nonzero(named & linked))
    count = int(np.count_nonzero(named))
    return {
        "edge_precision": right / count if count else None, "edge_recall": right / edges,
        "edge_top": top_share(odds, linked, edges), "prior_precision": prior, "prior_recall": count / pairs,
    }  # fmt: skip


def top_share(odds: FloatArray, linked: NDArray[np.bool_], size: int) -> float:
    """Share of edges among the ``size`` pairs of the largest odds; equals are drawn at random (its mean)."""
    least = np.partition(odds, len(odds) - size)[len(odds) - size]
    above, equal = odds > least, odds == least
    places = size - int(np.count_nonzero(above))
    share = np.count_nonzero(linked & equal) / np.count_nonzero(equal)
    return float((np.count_nonzero(linked & above) + places * share) / size)
