"""Opinions about everybody's class that a graph of probable links gives, for a pool.

P holds the probability of each link, S the pairs that were reported as links. Components, each
(n, classes):

    smoothed features         ridge regression on D^-1 (P + I) Z, Z the rows of the features
    spectrum                  ridge regression on 48 eigenvectors of E^-1/2 P E^-1/2 and ln(1 + D), E = D + mean of D
    label propagation on P    ln of the classes that spread from the training people
    label propagation on S    the same on the pairs

D are the row sums of P. E instead of D keeps small components of the graph from having eigenvectors of their own
(Qin and Rohe 2013). The eigenvalues are those of largest magnitude, so links between classes count as well as links
within.

Ridge's rows are leave-one-out for training people: given P, no label reaches its own row. Label propagation gives a
training person its own label back (``BY_HEART``). Its exponents must come from other people.

Answer of a curator: a pool of everything that speaks about a person's class, and a guard.

The pool is fitted on validation labels, which are no sources of the posterior, and on training labels, as far as
they are not in their own rows (:mod:`ldpsim.curator.learning.pool`). What is published is the pool, unless validation
prefers something simpler: features alone, label propagation on the pairs that every report calls an edge, or the
largest class. The pool's own predictions for validation people are cross-fitted, so that each is made without the
own label. A simpler answer has to be better by more than the standard error of the paired difference.

Posterior of a curator: from what was told to everybody's class.

The evidence (:mod:`ldpsim.curator.evidence.evidence`) goes through the block model
(:mod:`ldpsim.curator.posterior.block_model`). Its beliefs, and other readings of its edges, are pooled and
guarded. Training labels are the sources. Validation labels guard; both fit exponents.
Nothing is random: samples and folds have fixed seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from scipy.special import log_softmax

from ldpsim.curator.evidence.evidence import Evidence
from ldpsim.curator.learning.node_evidence import SMOOTHED_PENALTIES, ln_scores, ridge_scores, taught
from ldpsim.curator.learning.pool import cross_fitted, fit_pool
from ldpsim.curator.linear.propagation import smoothed_rows, spread_rows
from ldpsim.curator.linear.scaling import standardised_rows
from ldpsim.curator.posterior.block_model import SparsePosterior, fit_block_model, symmetric
from ldpsim.curator.reports.labels import LabelEvidence
from ldpsim.devices.array_types import DoubleArray, IntArray

EIGENVECTORS = 48
_ON_LINKS, _ON_PAIRS = "label propagation on P", "label propagation on S"
BY_HEART = frozenset({_ON_LINKS, _ON_PAIRS})
_TOLERANCE = 1e-2  # of an eigenvalue: the space of the eigenvectors counts, not each of them
_MOST_ITERATIONS = 200
_LARGEST_INVERSE = 2048  # rows of a matrix to invert for each penalty


def graph_components(
    rows: Any,
    links: csr_array,
    pairs: csr_array | None,
    told: LabelEvidence,
    train: IntArray,
) -> Mapping[str, DoubleArray]:
    """float64 (n, classes) by name; empty without a training label or without a link.

    Args:
        rows: (n, d) of length 1 (:func:`ldpsim.curator.learning.node_evidence.unit_rows`); None for no features.
        links: P, symmetric CSR (n, n).
        pairs: S, symmetric CSR (n, n) of ones; None where there are no more pairs than links.
        told: Labels, public or reported.
        train: Training people.
    """
    train = told.known(train)
    if not len(train) or not links.nnz:
        return {}
    found = {}
    if rows is not None:
        smoothed = smoothed_rows(rows, links)
        penalties = _few(smoothed, train, told)
        found["smoothed features"] = ln_scores(ridge_scores(smoothed, train, told, penalties))
    found["spectrum"] = ln_scores(ridge_scores(spectrum(links), train, told))
    known = told.probabilities(train)
    found[_ON_LINKS] = _propagated(links, known, train)
    if pairs is not None:
        found[_ON_PAIRS] = _propagated(pairs, known, train)
    return found


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
            _, vectors = eigsh(matrix, k=count, which="LM", v0=start, tol=_TOLERANCE, maxiter=_MOST_ITERATIONS)
        except ArpackNoConvergence as stopped:
            vectors = stopped.eigenvectors
    columns = np.zeros((len(degrees), vectors.shape[1] + 1))
    columns[linked, :-1] = vectors
    columns[:, -1] = np.log1p(degrees)
    return standardised_rows(columns)


def _propagated(graph: csr_array, known: DoubleArray, sources: IntArray) -> DoubleArray:
    spread = spread_rows(graph, known.astype(np.float32), sources).astype(np.float64)
    reached = spread.sum(axis=1, keepdims=True)
    return ln_scores(np.where(reached > 0, spread / np.where(reached > 0, reached, 1), known.mean(axis=0)))


def _few(rows: Any, train: IntArray, told: LabelEvidence) -> tuple[float, ...]:
    """Return the penalties, or where a large matrix must be inverted the best one for a part of the people."""
    if min(rows.shape[1], len(train)) <= _LARGEST_INVERSE:
        return SMOOTHED_PENALTIES
    part = train[:: -(-len(train) // _LARGEST_INVERSE)]
    return (taught(rows, part, told, SMOOTHED_PENALTIES).penalty,)


POOL = "pool"


@dataclass(frozen=True, eq=False)
class GuardedAnswer:
    """A published answer.

    Args:
        chosen: ``pool``, or the name of the simpler answer.
        log_probability: float64 (n, classes).
        exponents: Exponents of the pool by component.
        accuracy: Share of validation hits of each candidate; NaN without a validation label.
    """

    chosen: str
    log_probability: DoubleArray = field(repr=False)
    exponents: Mapping[str, float]
    accuracy: Mapping[str, float]


def guarded_answer(
    components: Mapping[str, DoubleArray], simpler: Mapping[str, DoubleArray], labels: LabelEvidence, val: IntArray,
    *, train: IntArray | None = None, late: Mapping[str, DoubleArray] | None = None,
    prior: Mapping[str, float],
) -> GuardedAnswer:  # fmt: skip
    """Pool the components and let validation guard the result.

    Args:
        components: float64 (n, classes) by name, log-probabilities or scores.
        simpler: float64 (n, classes) by name: the other candidates, the most trusted first.
        labels: Public or reported labels.
        val: int64: validation people with a label.
        train: int64: people whose own label is in no row of theirs in ``components``; their labels fit exponents too.
        late: float64 (n, classes) by name: components that may hold labels of ``train``.
        prior: Exponents before any validation label is seen.
    """
    pool = fit_pool(components, labels, val, others=train, late=late, prior=prior)
    honest = cross_fitted(components, labels, val, others=train, late=late, prior=prior)
    hits = {name: _hits(rows, labels, val) for name, rows in {POOL: honest, **simpler}.items()}
    chosen = POOL
    for name in simpler:
        gain = hits[name] - hits[POOL]
        if gain.sum() > math.sqrt(np.square(gain).sum()) and hits[name].sum() > hits[chosen].sum():
            chosen = name
    accuracy = {name: float(found.mean()) if len(val) else math.nan for name, found in hits.items()}
    return GuardedAnswer(chosen, pool.log_probability if chosen == POOL else simpler[chosen], pool.exponents, accuracy)


def _hits(scores: DoubleArray, labels: LabelEvidence, nodes: IntArray) -> DoubleArray:
    return (scores[nodes].argmax(axis=1) == labels.labels[nodes]).astype(np.float64)


SEED = 0
LIKELY = 0.02  # smallest probability of an edge that is kept
BELIEFS, _FEATURES, _AGREED, _LARGEST = "beliefs", "features", "label propagation on S", "largest class"


@dataclass(frozen=True, eq=False)
class Estimate:
    """Result.

    Args:
        answer: Everybody's class, and how it was chosen.
        model: The block model.
        components: float64 (n, classes) by name: what was pooled.
        left, right, probability: The pairs with P >= .02, left < right.
    """

    answer: GuardedAnswer
    model: SparsePosterior
    components: Mapping[str, DoubleArray] = field(repr=False)
    left: IntArray = field(repr=False)
    right: IntArray = field(repr=False)
    probability: DoubleArray = field(repr=False)

    def notes(self) -> dict[str, Any]:
        """Return the facts of the estimate for the record."""
        model, found = self.model, self.answer
        return {
            "answer": found.chosen,
            "validation_accuracy": dict(found.accuracy),
            "exponents": dict(found.exponents),
            "pairs": len(model.pairs.left),
            "expected_edges": float(model.probability.sum()),
            "rounds": model.rounds,
            "stopped": model.stopped,
        }


def estimate(evidence: Evidence) -> Estimate:
    """Return the posterior of the evidence; training labels are the sources."""
    people = evidence.people.log_probability
    model, components, late = _read(evidence, evidence.train)
    simpler = {_FEATURES: people} if _FEATURES in components else {}
    if _AGREED in late:
        simpler[_AGREED] = late[_AGREED]
    shares = evidence.class_estimates(evidence.train).sum(axis=0)
    simpler[_LARGEST] = np.tile(np.log(np.maximum(shares, 0) + 1), (len(people), 1))
    prior = {name: float(name == BELIEFS) for name in components}
    published = guarded_answer(
        components, simpler, evidence.labels, evidence.val, train=evidence.train, late=late, prior=prior,
    )  # fmt: skip
    kept = model.probability >= LIKELY
    left, right, probability = model.pairs.left[kept], model.pairs.right[kept], model.probability[kept]
    return Estimate(published, model, {**components, **late}, left, right, probability)


_Parts = dict[str, DoubleArray]


def _read(evidence: Evidence, sources: IntArray) -> tuple[SparsePosterior, _Parts, _Parts]:
    """Return the posterior, the components of the pool and its late ones, with the labels of these people."""
    people = evidence.people.log_probability
    own, labels = evidence.own(sources), evidence.class_estimates(sources)
    model = fit_block_model(evidence.links, people, own, labels, evidence.scores, seed=SEED)
    left, right, n = model.pairs.left, model.pairs.right, len(people)
    kept = model.probability >= LIKELY
    likely = symmetric(left[kept], right[kept], model.probability[kept], n)
    agreed = symmetric(left, right, np.ones(len(left)), n)
    found = graph_components(evidence.rows, likely, agreed, evidence.labels, sources)
    late = {name: rows for name, rows in found.items() if name in BY_HEART}
    components = {BELIEFS: log_softmax(model.beliefs.total, axis=1)}
    components |= {name: rows for name, rows in found.items() if name not in BY_HEART}
    if evidence.people.components:
        components[_FEATURES] = people
    return model, components, late
