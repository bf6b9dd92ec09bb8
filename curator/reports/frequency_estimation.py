"""Frequency estimation in neighbourhoods (Bhaila et al. 2024, RGNN, eq. 2 and 4, Algorithms 2 and 3).

lambda'_v is the share of each category among the reports of v's K-hop neighbourhood: the
mean over N(v) and v, K times. Its mean is a mixture of the reports' known distributions, so unbiased estimates are

    features (GRR-FS, eq. 2):  pi = d lambda' / (m (p - q)) + (m - d - m g q) / (m g (p - q))
    labels (eq. 4):            pi = P^-1 lambda' = (lambda' - q) / (p - q)

A person without a report (a silent device, or a person who was not asked for a label) is a row of zeros. Features are
divided by the share of the neighbourhood that did report. Each feature has the p, q and g of its own domain.

Both corrections rise in lambda', by the same slope for every category, so they never move
an argmax: labels and features of more than two categories are the most frequent report, and eq. 4 need not be
computed. Only binary features stay numbers and need eq. 2; these may leave [0, 1].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from ldpsim.curator.linear.propagation import adjacency_matrix, both_directions, mean_matrix, propagate
from ldpsim.curator.linear.strips import columns_at_once
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.mechanisms import GRRFS


def neighbourhood_mean(n: int, edges: IntArray) -> csr_array:
    """float32 (n, n): the mean over N(v) and v itself; an isolated node keeps its own value.

    Args:
        n: Number of nodes.
        edges: int64 (2, m), each undirected edge once.
    """
    looped = csr_array(adjacency_matrix(n, both_directions(edges)) + eye_array(n, dtype=np.float32, format="csr"))
    return mean_matrix(looped)


def feature_spans(mechanism: GRRFS) -> list[slice]:
    """Return the columns of each feature: one for two categories, else one a category."""
    widths = [1 if g == 2 else g for g in mechanism.domains]
    ends = np.cumsum(widths).tolist()
    return [slice(end - width, end) for end, width in zip(ends, widths, strict=True)]


def code_features(
    codes: NDArray[Any], reported: NDArray[np.bool_], mechanism: GRRFS, features: range | None = None
) -> NDArray[np.float32]:
    """Return categories as 0/1 columns, float32 (n, columns); rows of people who did not report are 0.

    Args:
        codes: int (n, number of features), categories.
        reported: bool (n,).
        mechanism: The mechanism of the reports.
        features: Features that follow one another; None: all.
    """
    sizes = [(feature, mechanism.domains[feature]) for feature in features or range(mechanism.d)]
    # two categories have one column, that of the second
    feature, category = np.array([(number, c) for number, g in sizes for c in range(int(g == 2), g)]).T
    coded = (np.take(codes, feature, axis=1) == category).astype(np.float32)
    coded[~reported] = 0
    return coded


def estimate_features(
    codes: NDArray[Any], reported: NDArray[np.bool_], mechanism: GRRFS, mean: csr_array, hops: int
) -> NDArray[np.float32]:
    """Algorithm 2: every feature from the reports of the neighbourhood.

    Args:
        codes: int (n, number of features), reported categories.
        reported: bool (n,): who reported.
        mechanism: GRR-FS as it was asked.
        mean: :func:`neighbourhood_mean`.
        hops: K_x; 0 corrects each person's own report.

    Returns:
        float32 (n, columns): for a binary feature the estimate that it is 1, for another
        the most probable category (of equal ones the first) as one-hot columns. Where nobody
        within reach reported, 1 / g.
    """
    reported_share = propagate(mean, reported.astype(np.float32)[:, None], hops)
    spans, at_once = feature_spans(mechanism), columns_at_once(len(codes))
    result = np.empty((len(codes), spans[-1].stop), np.float32)
    for first in range(0, mechanism.d, at_once):
        features = range(first, min(first + at_once, mechanism.d))
        columns = slice(spans[first].start, spans[features[-1]].stop)
        result[:, columns] = propagate(mean, code_features(codes, reported, mechanism, features), hops)
    np.divide(result, reported_share, out=result, where=reported_share > 0)
    sizes = np.array([g for g in mechanism.domains for _ in range(1 if g == 2 else g)])  # categories, of each column
    slope, intercept = mechanism.correction(2) if 2 in sizes else (1.0, 0.0)
    result *= np.where(sizes == 2, slope, 1).astype(np.float32)
    result += np.where(sizes == 2, intercept, 0).astype(np.float32)
    for g, span in zip(mechanism.domains, spans, strict=True):
        if g > 2:
            result[:, span] = np.argmax(result[:, span], axis=1)[:, None] == np.arange(g)
    result[reported_share[:, 0] == 0] = 1 / sizes
    return result


def estimate_labels(rows: NDArray[Any], mean: csr_array, hops: int) -> IntArray:
    """Algorithm 3: every node's label from the reports of the neighbourhood (masked propagation).

    Args:
        rows: float (n, classes): the classes that each report names
            (:meth:`ldpsim.curator.reports.labels.ObservedLabels.everybody`), zeros where there is none.
        mean: :func:`neighbourhood_mean`.
        hops: K_y.

    Returns:
        int64 (n,), also for nodes without a report of their own; of equal estimates the
        first; -1 where no report lies within reach.
    """
    shares = propagate(mean, np.asarray(rows, np.float32), hops)
    return np.where(shares.any(axis=1), shares.argmax(axis=1), -1).astype(np.int64)
