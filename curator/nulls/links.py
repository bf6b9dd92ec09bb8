"""Null models of link prediction: a score for each pair with less than a method has.

A method has gained something only if it is above all of them. They see what its curator sees
(:class:`curator.nulls.known.NullEvidence`): the public graph without the held-out edges, or the pairs whose
every reported bit is 1; and the features that the curator sees.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, eye_array

from curator.learning.training import TrainingSettings
from curator.linear.pagerank import personalized_pagerank, walk_matrix
from curator.linear.propagation import adjacency_matrix
from curator.linear.tfidf import weighted_rows
from curator.nulls.known import NullEvidence
from curator.pairs.ranking import auc
from curator.pairs.scorer import LINK_TRAINING, train_links
from devices.array_types import DoubleArray, IntArray

_ALPHA = 0.1
_ENDS_AT_ONCE = 512


def common_neighbours(known: NullEvidence, pairs: IntArray) -> DoubleArray | None:
    """float64 (m,): number of people who have an edge to both ends; None without edges to use."""
    graph = _graph(known)
    if graph is None:
        return None
    left, right = pairs
    return np.asarray(graph[left].multiply(graph[right]).sum(axis=1), np.float64).ravel()


def pagerank_of_pairs(known: NullEvidence, pairs: IntArray) -> DoubleArray | None:
    """float64 (m,): personalised PageRank of one end, seen from the other, both ways added; None without edges.

    alpha is 0.1, and a step goes to a neighbour at random. No feature is read.
    """
    graph = _graph(known)
    if graph is None:
        return None
    walk, (left, right), n = walk_matrix(graph, 0.0), pairs, graph.shape[0]
    identity, scores = csr_array(eye_array(n, dtype=np.float32)), np.zeros(pairs.shape[1])
    ends = np.unique(pairs)
    for start in range(0, len(ends), _ENDS_AT_ONCE):
        some = ends[start : start + _ENDS_AT_ONCE]
        reached = personalized_pagerank(
            walk, identity[:, some], _ALPHA
        )  # column k: everybody's visits of person some[k]
        place = np.full(n, -1)
        place[some] = np.arange(len(some))
        for one, other in ((left, right), (right, left)):
            here = place[other] >= 0
            scores[here] += reached[one[here], place[other[here]]]
    return scores


def features_of_links(
    known: NullEvidence, pairs: IntArray, val: int, *, seed: int, device: str = "cpu"
) -> DoubleArray | None:
    """float64 (m,): similarity of features, none of which is spread over the graph; None without features.

    It is the cosine of two rows, or a link scorer that learns from the known edges which features go
    together: the one with the larger AUC on the validation pairs, the cosine if they have the same.

    Args:
        known: What the curator knows.
        pairs: int64 (2, m), the validation pairs first.
        val: Number of validation pairs.
        seed: Seed of the link scorer.
        device: Device of the link scorer.
    """
    if known.features is None or not known.features.shape[1]:
        return None
    rows = weighted_rows(known.features)
    left, right = pairs
    product = rows[left] * rows[right] if isinstance(rows, np.ndarray) else rows[left].multiply(rows[right])
    cosine = np.asarray(product.sum(axis=1), np.float64).ravel()
    if known.edges is None or not known.edges.shape[1]:
        return cosine
    settings = TrainingSettings(**LINK_TRAINING)
    learned = train_links(rows, known.edges, pairs, val, settings=settings, seed=seed, device=device)
    return learned.predictions if learned.val_auc > auc(cosine[:val]) else cosine


def _graph(known: NullEvidence) -> csr_array | None:
    if known.edges is None or not known.edges.shape[1]:
        return None
    return adjacency_matrix(len(known.labels.labels), np.concatenate([known.edges, known.edges[::-1]], axis=1))
