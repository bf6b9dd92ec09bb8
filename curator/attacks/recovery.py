"""Private values from repeated reports: guesses of maximum likelihood, and how often they are right.

T reports of one bit, report r of loss eps_r, add up to the log-odds

    sum_r eps_r (2 y_r - 1),

and the sign is the maximum-likelihood guess; with equal budgets that is the majority. A label's guess is the category
of the largest summed log-likelihood; with equal budgets, the plurality. A coin decides between equals: of k equals the
right one counts 1/k. The log-likelihood of one report is known to its mechanism (``Mechanism.log_likelihood``).

Exact rates of success, without a prior, of T independent reports: a bit whose reports are right with probability r is
guessed by the majority,

    Pr[right] = Pr[Bin(T, r) > T/2] + Pr[Bin(T, r) = T/2] / 2,

and a label under GRR over g categories by the plurality.

With a public prior: the share of a value among all bits is known in most data sets, and its logit adds to the log-odds.
What is recovered is then the rarer value, which a guess without reports never names. The log-odds of both ends of an
edge are of the same bit, so they add.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom, poisson

from ldpsim.devices.array_types import BoolArray, FloatArray

_TIE = 1e-9  # sums of equal weights differ in their last bits


def recovered_bits(log_odds: FloatArray, truth: BoolArray, among: BoolArray | None = None) -> float:
    """Return the share of bits whose sign is right; a tie counts half.

    Args:
        log_odds: float (n, m).
        truth: bool (n, m).
        among: bool (n, m), True for entries that count; None for all.
    """
    score = np.where(np.abs(log_odds) < _TIE, 0.5, (log_odds > 0) == truth)
    return float(score.mean() if among is None else score[among].mean())


def recovered_labels(
    log_likelihoods: FloatArray, truth: NDArray[np.int64], counts: NDArray[np.int64] | None = None
) -> float:
    """Return the share of labels that are the likeliest category; of k equals each counts 1/k.

    People without a label (-1) do not count.

    Args:
        log_likelihoods: float (n, categories).
        truth: int64 (n,).
        counts: int64 (categories,), how many people have each label, where that is public; None for no prior.
    """
    people = np.flatnonzero(truth >= 0)
    rows = log_likelihoods[people]
    if counts is not None:
        with np.errstate(divide="ignore"):  # nobody has some category
            rows = rows + np.log(counts / counts.sum())
    best = rows > rows.max(axis=1, keepdims=True) - _TIE
    return float(np.mean(best[np.arange(len(people)), truth[people]] / best.sum(axis=1)))


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
    """Pr[a majority of ``asks`` reports is right], each right with probability ``right`` (any shape)."""
    p = np.asarray(right, np.float64)
    won: Any = binom.sf(asks // 2, asks, p)
    return won + binom.pmf(asks // 2, asks, p) / 2 if asks % 2 == 0 else won


def label_recovery(truth: float, categories: int, asks: int) -> float:
    """Pr[the plurality of ``asks`` GRR reports is the truth], ``truth`` = Pr[a report is the truth].

    Given that a reports are the truth, the others fall evenly on g - 1 categories. Their counts are independent Poisson
    numbers given their sum. So the chance that none exceeds a is a coefficient of a product of g - 1 truncated series.
    Each count that equals a weighs t, and the integral over t in [0, 1] makes k such counts weigh 1 / (k + 1).
    """
    total, others = 0.0, categories - 1
    nodes, weights = np.polynomial.legendre.leggauss(others // 2 + 1)  # exact: a polynomial of degree g - 1
    for hits, chance in enumerate(binom.pmf(np.arange(asks + 1), asks, truth)):
        rest = asks - hits
        if not hits or chance < 1e-14:  # what is left out adds up to less than 1e-11
            continue
        below = poisson.pmf(np.arange(hits + 1), rest / others)
        if rest < hits:
            total += chance
            continue
        size = 1 << max(rest, others * hits).bit_length()
        won = 0.0
        for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
            series = np.fft.rfft(np.append(below[:-1], node * below[-1]), size)
            won += weight * np.fft.irfft(series**others, size)[rest]
        total += chance * min(max(won, 0.0) / poisson.pmf(rest, rest), 1.0)
    return float(min(total, 1.0))


def recovered_rare(log_odds: FloatArray, truth: NDArray[np.bool_]) -> float | None:
    """Return the share of the bits with the rarer value that are guessed right where the share of each is public.

    Args:
        log_odds: float (n, m), for the value True.
        truth: bool (n, m).

    Returns:
        The share; None where all bits are equal.
    """
    ones, zeros = int(truth.sum()), int(truth.size - truth.sum())
    if not ones or not zeros:
        return None
    guessed = log_odds + math.log(ones / zeros) > 0
    rare = truth if ones <= zeros else ~truth
    return float(np.mean(guessed[rare] == truth[rare]))


def attack_edges(log_odds: FloatArray, truth: NDArray[np.bool_]) -> dict[str, float | None]:
    """Name edges from log-odds and the density, which is public in most data sets; compare with the truth.

    Args:
        log_odds: (n, n), row i the log-odds of what i reported; 0 where it reported nothing.
        truth: bool (n, n), symmetric.

    Returns:
        Precision (None where no pair is named) and recall of the pairs that are named.

    Raises:
        ValueError: where the graph has no edge or every one.
    """
    upper = np.triu_indices(len(truth), 1)
    odds, linked = log_odds[upper] + log_odds.T[upper], truth[upper]
    edges, pairs = int(linked.sum()), len(linked)
    if not 0 < edges < pairs:
        raise ValueError(f"edges cannot be attacked in a graph with {edges} of {pairs} of them")
    guessed = odds + math.log(edges / (pairs - edges)) > 0
    right, count = int(np.count_nonzero(guessed & linked)), int(np.count_nonzero(guessed))
    return {"edge_precision": right / count if count else None, "edge_recall": right / edges}
