"""Components of the pool: log-probabilities of everybody's class from one part of what is known.

P holds the probability of each link, S the pairs that were reported as links.
Components, each (n, classes):

    beliefs                   those of the block model
    smoothed features         ridge regression on D^-1 (P + I) Z, Z the rows of the features
    spectrum                  ridge regression on 48 eigenvectors of E^-1/2 P E^-1/2 and ln(1 + D), E = D + mean of D
    features                  those of :mod:`ldpsim.curator.features.feature_posterior`
    label propagation on P    ln of the classes that spread from the training people
    label propagation on S    the same on the pairs
    LINK                      logistic regression on rows of S, of one hop or two (:mod:`ldpsim.curator.learning.link`)

D are the row sums of P. E instead of D keeps small components of the graph from having eigenvectors of their own
(Qin and Rohe 2013). The eigenvalues are those of largest magnitude, so links between classes count as well as links
within.

Ridge's rows are leave-one-out for training people: given P, no label reaches its own row. Label propagation gives a
training person its own label back, and LINK is fitted to training labels, so they join the pool late. Their exponents
must come from other people.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, triu
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from scipy.special import log_softmax

from ldpsim.curator.features.feature_posterior import ln_scores
from ldpsim.curator.learning.link import MOST_PEOPLE, link
from ldpsim.curator.learning.ridge import MORE_PENALTIES, fit_ridge
from ldpsim.curator.linear.propagation import smoothed_rows, spread_rows
from ldpsim.curator.linear.scaling import standardised_rows
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.devices.array_types import DoubleArray, IntArray

EIGENVECTORS = 48
_EIGENVALUES_WITHIN = 1e-2  # the space of the eigenvectors counts, not each of them
_MOST_ITERATIONS = 200
ON_LINKS, ON_PAIRS = "label propagation on P", "label propagation on S"
LINK = "LINK"
_LARGEST_INVERSE = 2048  # rows of a matrix to invert for each penalty


def graph_components(
    rows: Any, links: csr_array, pairs: csr_array, labels: ObservedLabels, train: IntArray, val: IntArray
) -> tuple[dict[str, DoubleArray], dict[str, DoubleArray]]:
    """float64 (n, classes) by name: components without own labels, and late ones; none without a label or a link.

    Args:
        rows: (n, d) of length 1 (:func:`ldpsim.curator.features.feature_posterior.unit_rows`); None for no features.
        links: P, symmetric CSR (n, n).
        pairs: S, symmetric CSR (n, n) of ones.
        labels: Labels, public or reported.
        train: Training people with a label.
        val: Validation people with a label.
    """
    if not len(train) or not links.nnz:
        return {}, {}
    early = {}
    if rows is not None:
        smoothed = smoothed_rows(rows, links)
        fit = fit_ridge(smoothed, train, labels, _few(smoothed, train, labels))
        early["smoothed features"] = ln_scores(fit.without_own_label)
    early["spectrum"] = ln_scores(fit_ridge(spectrum(links), train, labels).without_own_label)
    probability = labels.probabilities(train)
    late = {ON_LINKS: _propagated(links, probability, train), ON_PAIRS: _propagated(pairs, probability, train)}
    if pairs.nnz and len(val) and len(labels.labels) <= MOST_PEOPLE:
        edges = np.stack(triu(pairs, format="coo").coords).astype(np.int64)
        by_hops = [scores for scores, _ in link(edges, labels, train, val, None)]
        hits = [np.count_nonzero(scores[val].argmax(axis=1) == labels.labels[val]) for scores in by_hops]
        late[LINK] = log_softmax(by_hops[int(np.argmax(hits))], axis=1)
    return early, late


def spectrum(links: csr_array, count: int = EIGENVECTORS) -> Any:
    """float32 (n, count + 1): rows of length 1 of the eigenvectors and ln(1 + D).

    The start vector is fixed, so the same links give the same bytes. A graph of few people has fewer eigenvectors.
    """
    degrees = np.asarray(links.sum(axis=1, dtype=np.float64)).ravel()
    linked = np.flatnonzero(degrees > 0)
    root = diags_array(1 / np.sqrt(degrees[linked] + degrees.mean()))
    matrix = csr_array(root @ links[linked][:, linked].astype(np.float64) @ root)
    if len(linked) <= 2 * count:
        values, vectors = np.linalg.eigh(matrix.toarray())
        vectors = vectors[:, np.argsort(-np.abs(values))[:count]]
    else:
        start = np.ones(len(linked))
        try:
            _, vectors = eigsh(matrix, k=count, which="LM", v0=start, tol=_EIGENVALUES_WITHIN, maxiter=_MOST_ITERATIONS)
        except ArpackNoConvergence as stopped:
            vectors = stopped.eigenvectors
    columns = np.zeros((len(degrees), vectors.shape[1] + 1))
    columns[linked, :-1] = vectors
    columns[:, -1] = np.log1p(degrees)
    return standardised_rows(columns)


def _propagated(graph: csr_array, rows: DoubleArray, sources: IntArray) -> DoubleArray:
    spread = spread_rows(graph, rows.astype(np.float32), sources).astype(np.float64)
    reached = spread.sum(axis=1, keepdims=True)
    return ln_scores(np.where(reached > 0, spread / np.where(reached > 0, reached, 1), rows.mean(axis=0)))


def _few(rows: Any, train: IntArray, labels: ObservedLabels) -> tuple[float, ...]:
    """Return the penalties, or where a large matrix must be inverted the best one for a part of the people."""
    if min(rows.shape[1], len(train)) <= _LARGEST_INVERSE:
        return MORE_PENALTIES
    part = train[:: -(-len(train) // _LARGEST_INVERSE)]
    return (fit_ridge(rows, part, labels, MORE_PENALTIES).penalty,)
