"""Law of a vote given the class, learned from people whose label is known.

Person i has w candidates, ranked by its own published row, and reports a place r. Its class is at the
place t of this ranking, or outside of the candidates. The table

    M[t, r] = (N[t, r] + k N[., r] / N) / (N[t, .] + k)

counts labelled people, with k prior counts that say nothing about the class. Their reports are answers of the
same kind as everybody's, so M holds the noise and the homophily at once. Nothing is inverted, and a law of people who
vote against their class is learned as well. (Prior counts that follow GRR with a fitted hit rate were no better.)

Places say how far the neighbours agree with what is published of a person. Where friends are of other classes,
they say nothing, and the same table of class and *reported class* does (:func:`by_class`).

The row of a labelled person leaves its own count out: nobody's label reaches its own evidence.
Where only a noisy report of the label is known, the counts are expectations over the class.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import DoubleArray, IntArray

PRIOR_COUNT = 10.0


@dataclass(frozen=True, eq=False)
class Ballots:
    """Votes of people who were asked with the same number of candidates in one batch.

    Args:
        people: int64 (m,): who voted.
        places: int64 (m, classes): the place of each class among the candidates, w for a class outside of them.
        reports: int64 (m,): reported places, the last of the values for "nobody known".
        width: w.
        values: Number of values that a report takes.
        bare: Whether they answered the question for an affinity: what is published of them played no part.
    """

    people: IntArray
    places: IntArray = field(repr=False)
    reports: IntArray = field(repr=False)
    width: int
    values: int
    bare: bool = False


def places_of(ranked: NDArray[np.uint8], width: int) -> IntArray:
    """int64 (m, classes): the place of each class in the rankings, ``width`` for a class outside of the candidates.

    >>> places_of(np.array([[2, 0, 1]], np.uint8), 2).tolist()
    [[1, 2, 0]]
    """
    return np.asarray(np.minimum(np.argsort(ranked, axis=1, kind="stable"), width), np.int64)


def by_class(ballots: Ballots) -> Ballots:
    """Return the same votes with classes in the stead of places: all are candidates, in the order of their numbers.

    A report of "nobody known" is the value after the classes.
    """
    rows, classes = ballots.places.shape
    named = (ballots.places == ballots.reports[:, None]) & (ballots.reports < ballots.width)[:, None]
    reported = np.where(named.any(axis=1), named.argmax(axis=1), classes)
    places = np.broadcast_to(np.arange(classes), (rows, classes))
    return Ballots(ballots.people, places, reported, classes, classes + 1)


def log_likelihood(ballots: Ballots, told: DoubleArray, *, prior: float = PRIOR_COUNT) -> DoubleArray:
    """float64 (m, classes): ln M[place of the class, report] of each vote.

    Args:
        ballots: The votes.
        told: float64 (m, classes): what is known of each label: one-hot, a distribution, or zeros for nothing.
        prior: k.
    """
    rows, sizes = np.arange(len(ballots.people)), ballots.width + 1
    by_place = np.zeros((len(rows), sizes))
    np.add.at(by_place, (rows[:, None], ballots.places), told)
    counts = np.zeros((ballots.values, sizes))
    np.add.at(counts, ballots.reports, by_place)
    base = _overall(ballots, told)[ballots.reports, None]
    # Everything less what the person itself has told.
    law = (counts[ballots.reports] - by_place + prior * base) / (counts.sum(axis=0) - by_place + prior)
    return np.asarray(np.log(np.take_along_axis(law, ballots.places, axis=1)))


def _overall(ballots: Ballots, told: DoubleArray) -> DoubleArray:
    """float64 (values,): N[., r] / N, with one more person for each report."""
    counts = np.bincount(ballots.reports, told.sum(axis=1), minlength=ballots.values) + 1
    return np.asarray(counts / counts.sum())
