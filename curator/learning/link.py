"""LINK: a person's class by logistic regression on the person's row of the pairs that the curator knows.

With A the known or reported pairs, made symmetric, and D its row sums, the row of a person is one of

    one hop     the row of A, over its length
    two hops    the mean of the friends' rows of one hop, D^-1 A (A over lengths): A A is never made.

One hop says who has which friends, whatever the classes of friends are. It is a baseline of the field since
Zheleva and Getoor 2009, and the L of LINKX (Lim et al. 2021). The regression corrects for the channel of reported
labels (:mod:`ldpsim.curator.learning.logistic`).

The pairs are those about which every report says 1. Rows of log-odds of all pairs, in which one of two reports
counts half, are nearly full at low epsilon, and were worse: by 2 to 4 points at epsilon 4 on Amherst41, Flickr and
Twitch DE and by 26 on Cora, by 4 to 13 at epsilon 1 and 2 on Amherst41 and Flickr. On Reed98, with 217 test people,
they were 2 points better. Rows of posterior probabilities were as good as the pairs, not better.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array, diags_array

from ldpsim.curator.learning.logistic import logistic_scores
from ldpsim.curator.linear.propagation import adjacency_matrix, both_directions, mean_matrix
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.devices.array_types import DoubleArray, IntArray

MOST_PEOPLE = 300_000  # of a graph on which it is taken: above them it would take longer than the method


def rows_of_pairs(n: int, edges: IntArray) -> tuple[csr_array, ...]:
    """Return D^-1 A and A over the lengths of its rows, float32 CSR (n, n); rows of people without a pair are zeros.

    Args:
        n: Number of people.
        edges: int64 (2, m), each undirected edge once.

    >>> _, rows = rows_of_pairs(3, np.array([[0, 0], [1, 2]]))
    >>> rows.toarray().astype(float).round(3).tolist()
    [[0.0, 0.707, 0.707], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    adjacency = adjacency_matrix(n, both_directions(edges))
    lengths = np.sqrt(np.asarray(adjacency.power(2).sum(axis=1)).ravel())
    factors = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return mean_matrix(adjacency), csr_array(diags_array(factors) @ adjacency).astype(np.float32)


def link(
    edges: IntArray, labels: ObservedLabels, train: IntArray, val: IntArray, training_people: IntArray | None
) -> Iterator[tuple[DoubleArray, DoubleArray]]:
    """Yield float64 (n, classes), the scores of one hop and of two, by the fits to ``train`` and ``training_people``.

    Args:
        edges: int64 (2, m), each undirected edge once.
        labels, train, val, training_people: Those of :func:`ldpsim.curator.learning.logistic.logistic_scores`.
    """
    mean, rows = rows_of_pairs(len(labels.labels), edges)
    for steps in ((rows,), (mean, rows)):
        yield logistic_scores(steps, labels, train, val, training_people)
