"""Law of a vote given the class, learned from people whose label is known.

Person i has w candidates, ranked by its own published row, and reports a place r. Its class is at the
place t of this ranking, or outside of the candidates (t = w). The table

    M[t, r] = (N[t, r] + k N[., r] / N) / (N[t, .] + k)

counts labelled people, with k prior counts that say nothing about the class. Their reports are answers
of the same kind as everybody's, so M holds the noise and the homophily at once. Nothing is inverted, and a law
of people who vote against their class is learned as well.

The row of a labelled person leaves its own count out: nobody's label reaches its own evidence.
Where only a noisy report of the label is known, the counts are expectations over the class, by the
posterior of everything else that is known about the person; two passes sharpen the posterior by the vote.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from devices.array_types import IntArray

PRIOR_COUNT = 10.0

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ballots:
    """Votes of people who were asked with the same law.

    Args:
        people: int64 (m,): who voted.
        places: int64 (m, classes): the place of each class among the candidates, w for a class outside of them.
        reports: int64 (m,): reported places.
        values: Number of values that a report takes.
    """

    people: IntArray
    places: IntArray = field(repr=False)
    reports: IntArray = field(repr=False)
    values: int


def places_of(ranked: NDArray[np.uint8], width: int) -> IntArray:
    """int64 (m, classes): the place of each class in the rankings, ``width`` for a class outside of the candidates.

    >>> places_of(np.array([[2, 0, 1]], np.uint8), 2).tolist()
    [[1, 2, 0]]
    """
    return np.minimum(np.argsort(ranked, axis=1, kind="stable"), width).astype(np.int64)


def log_likelihood(ballots: Ballots, shares: Matrix, *, prior: float = PRIOR_COUNT) -> Matrix:
    """float64 (m, classes): ln M[place of the class, report] of each vote.

    Args:
        ballots: The votes.
        shares: float64 (m, classes): what is known of each label: one-hot, a distribution, or zeros for nothing.
        prior: k.
    """
    rows, places = len(ballots.people), ballots.places
    sizes = int(places.max(initial=0)) + 1
    told = np.zeros((rows, sizes))
    np.add.at(told, (np.arange(rows)[:, None], places), shares)
    counts = np.zeros((sizes, ballots.values))
    np.add.at(counts.T, ballots.reports, told)
    of_report = counts.sum(axis=0)
    total = of_report.sum()
    # Everything less what the person itself has told.
    own = told.sum(axis=1)
    base = (of_report[ballots.reports] - own + 1) / (total - own + ballots.values)
    hits = counts[:, ballots.reports].T - told
    people = counts.sum(axis=1) - told
    law = (hits + prior * base[:, None]) / (people + prior)
    return np.asarray(np.log(np.take_along_axis(law, places, axis=1)))
