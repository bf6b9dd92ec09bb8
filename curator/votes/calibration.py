"""Homophily of friends, learned from a calibration group: a few people who know their label.

Each of them reports whether its list speaks more for its own class than for another one
(:mod:`ldpsim.devices.mechanisms.neighbourhood_vote`). Without any relation about a half of them says yes. For each
value h of a grid of homophilies the curator computes the share A(h) that it expects, from what it knows of the people
in the table. With k the probability that the response keeps a report, r of m reports are 1 with the probability

    Binomial(r; m, k A(h) + (1 - k) / 2).

Together with a prior over the grid this gives a posterior, and its mean is the homophily that is used. The prior has
.7 of its weight on the largest value, .8, because friends are of one class in most graphs, and the rest evenly on the
other values.

Nothing is known of the lists. A(h) assumes that

- a person has g known friends with probability (1 - 1/G)^(g-1) / G, G = 3 on average;
- a tenth of the people have friends that say nothing of their class;
- the sum of g scores is normal.

It was checked against the true shares of seven real and eight generated graphs: at h = .8 it says .72, .82 and .92 for
losses of 1, 2 and 4, and Cora has .71, .82 and .93. An error of A(h) is an error of h, never of the stated loss.

The same assumptions, and how well own features name the volunteers' labels, tell how often a vote is right. Where
labels are public and labelled people vote, too, how often a vote names the own label tells h in the same way.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.mechanisms.neighbourhood_vote import SATURATION
from ldpsim.devices.mechanisms.score_rows import affinity, friend_scores

HOMOPHILIES = (-0.9, -0.6, -0.3, 0.0, 0.15, 0.3, 0.45, 0.6, 0.8)
CALIBRATION_HOMOPHILY = 0.8  # the homophily of the scores that the calibration group compares
_PRIOR_OF_LARGEST = 0.7  # homophily
FRIENDS = 3.0  # G
UNRELATED = 0.1
_MOST_FRIENDS = 60
_SAMPLES = 2000
_SMALLEST = 1e-9


def expected_shares(
    table: DoubleArray, counts: IntArray, shares: DoubleArray, homophilies: tuple[float, ...] = HOMOPHILIES
) -> DoubleArray:
    """float64 (homophilies,): A(h).

    Args:
        table: float64 (r, classes): different class distributions of people of whom something is known.
        counts: int64 (r,): people with each of them.
        shares: float64 (classes,): pi.
        homophilies: Values of h, each -1 .. 1.
    """
    by_class = _rows_by_class(table, counts)
    scores = friend_scores(table, affinity(CALIBRATION_HOMOPHILY, shares), shares)
    friends = np.arange(1, _MOST_FRIENDS)
    weights = (1 - 1 / FRIENDS) ** (friends - 1)
    weights /= weights.sum()
    mixtures = [affinity(h, shares) for h in homophilies]
    total = np.zeros(len(homophilies))
    classes = len(shares)
    for label in range(classes):
        ahead = np.delete(scores[:, [label]] - scores, label, axis=1)  # (r, classes - 1): than each other class
        first, second = by_class.T @ ahead, by_class.T @ np.square(ahead)
        for place, mixture in enumerate(mixtures):
            mean = mixture[label] @ first
            deviation = np.sqrt(np.maximum(mixture[label] @ second - np.square(mean), 1e-12))
            above = ndtr(np.sqrt(friends)[:, None] * (mean / deviation))  # (friends, classes - 1)
            total[place] += shares[label] * float((weights @ above).mean())
    return np.asarray((1 - UNRELATED) * total / shares.sum() + UNRELATED / 2)


def posterior_mean(ones: int, reports: int, kept: float, expected: DoubleArray, *, values: int = 2) -> float:
    """Return the posterior mean of h.

    Args:
        ones: Number of reports that are 1, or that name the own label.
        reports: Number of reports m.
        kept: Probability k that the response keeps a report; else all values are alike.
        expected: float64: A(h) of :data:`HOMOPHILIES`.
        values: Number of values of a report.

    >>> expected = np.linspace(0.3, 0.9, len(HOMOPHILIES))
    >>> [round(posterior_mean(ones, 100, 1.0, expected), 2) for ones in (0, 50, 90)], round(
    ...     posterior_mean(0, 0, 1.0, expected), 2)
    ([-0.9, -0.11, 0.8], 0.55)
    """
    chance = np.clip(kept * expected + (1 - kept) / values, 1e-9, 1 - 1e-9)
    prior = np.full(len(HOMOPHILIES), (1 - _PRIOR_OF_LARGEST) / (len(HOMOPHILIES) - 1))
    prior[-1] = _PRIOR_OF_LARGEST
    logs = np.log(prior) + ones * np.log(chance) + (reports - ones) * np.log1p(-chance)
    weights = np.exp(logs - logs.max())
    return float(weights @ np.array(HOMOPHILIES) / weights.sum())


def right_share(
    own: DoubleArray, labels: IntArray, table: DoubleArray, counts: IntArray, shares: DoubleArray, homophily: float,
    *, scored: float | None = None, candidates: int | None = None,
) -> float:  # fmt: skip
    """Return how often own features and a list of friends at this homophily are expected to name the label.

    People are drawn from those whose features are known, and lists by the assumptions above, 2,000 times from one seed.

    Args:
        own: float64 (m, classes): ln-probabilities of the classes by own features, each from a fit without the person.
        labels: int64 (m,): their labels; m at least 1.
        table, counts, shares: Those of :func:`expected_shares`.
        homophily: h.
        scored: Homophily by which friends are scored; None for h.
        candidates: Number of classes to choose from, the likeliest by ``own``; None for all. Only people whose label is
            among them count; 0 without any.
    """
    rng = np.random.Generator(np.random.PCG64(0))
    people = rng.integers(0, len(labels), _SAMPLES)
    wanted, classes = labels[people], len(shares)
    numbers = np.minimum(rng.geometric(1 / FRIENDS, _SAMPLES), _MOST_FRIENDS - 1)
    owner = np.repeat(np.arange(_SAMPLES), numbers)
    related = (rng.random(_SAMPLES) >= UNRELATED)[owner]
    mixture = affinity(homophily, shares)
    likely = np.where(related[:, None], mixture[wanted[owner]], shares / shares.sum())
    of_friend = _drawn(rng, np.cumsum(likely, axis=1))
    rows = _drawn(rng, np.cumsum(_rows_by_class(table, counts), axis=0).T[of_friend])
    scores = np.zeros((_SAMPLES, classes))
    weighed = mixture if scored is None else affinity(scored, shares)
    np.add.at(scores, owner, friend_scores(table, weighed, shares)[rows])
    scores *= (SATURATION / (SATURATION + numbers - 1.0))[:, None]
    total, counted = own[people] + scores, np.ones(_SAMPLES, np.bool_)
    if candidates is not None:
        ranks = np.argsort(np.argsort(-own, axis=1, kind="stable"), axis=1)[people]
        total = np.where(ranks < candidates, total, -np.inf)
        counted = ranks[np.arange(_SAMPLES), wanted] < candidates
    return float(np.mean((total.argmax(axis=1) == wanted)[counted])) if counted.any() else 0.0


def kept_share(epsilon: float, values: int) -> float:
    """Return k of GRR over this many values: it keeps the choice with this probability, and else draws a value.

    >>> round(kept_share(2.0, 7), 2)
    0.48
    """
    odds = math.expm1(min(epsilon, 700.0))
    return odds / (odds + values)


def _rows_by_class(table: DoubleArray, counts: IntArray) -> DoubleArray:
    """float64 (r, classes): the probability that a person of the class has the row."""
    weights = table * counts[:, None]
    return np.asarray(weights / np.maximum(weights.sum(axis=0), _SMALLEST))


def _drawn(rng: np.random.Generator, cumulated: DoubleArray) -> IntArray:
    """int64 (m,): a place from each row of cumulated probabilities."""
    return np.asarray((rng.random((len(cumulated), 1)) * cumulated[:, -1:] >= cumulated).sum(axis=1).clip(
        max=cumulated.shape[1] - 1))  # fmt: skip
