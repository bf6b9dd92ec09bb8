"""Posterior of a curator: from what was told to everybody's class.

The evidence (:mod:`ldpsim.curator.evidence.evidence`) goes through a block model. Its beliefs, and other
readings of its edges, are pooled and guarded. Training labels are the sources. Validation labels guard; both fit
exponents. Nothing is random: samples and folds have fixed seeds.

Block model with degrees, scores of pairs and evidence about people.

A round fits the prior of an edge to the reports (:mod:`ldpsim.curator.links.edge_prior`) with what is believed about
both ends, lets the beliefs propagate (:mod:`ldpsim.curator.links.belief_propagation`), and counts the affinity of
classes anew. That is an EM algorithm over labels, affinities and edge probabilities. It ends once a round changes the
beliefs by little.

The scores of a pair are the given ones (similarity of features), the sum of both log-activities, and from the second
round on the number of common partners. The log-agreement ln q_i' Om q_j of what is believed about both ends is the
offset. For a pair in S the activities are without its own hit, and the beliefs are without its own message. No belief
holds the own label of its person.

Opinions about everybody's class. P holds the probability of each link, S the pairs that were reported as links.
Components, each (n, classes):

    beliefs                   those of the block model
    smoothed features         ridge regression on D^-1 (P + I) Z, Z the rows of the features
    spectrum                  ridge regression on 48 eigenvectors of E^-1/2 P E^-1/2 and ln(1 + D), E = D + mean of D
    features                  those of :mod:`ldpsim.curator.learning.node_evidence`
    label propagation on P    ln of the classes that spread from the training people
    label propagation on S    the same on the pairs

D are the row sums of P. E instead of D keeps small components of the graph from having eigenvectors of their own
(Qin and Rohe 2013). The eigenvalues are those of largest magnitude, so links between classes count as well as links
within.

Ridge's rows are leave-one-out for training people: given P, no label reaches its own row. Label propagation gives a
training person its own label back, so it joins the pool late. Its exponents must come from other people.

Pool and guard. The pool is fitted on validation labels, which are no sources of the posterior, and on training labels,
as far as they are not in their own rows (:mod:`ldpsim.curator.learning.pool`). What is published is the pool, unless
validation prefers something simpler: features alone, label propagation on the pairs that every report calls an edge, or
the largest class. The pool's own predictions for validation people are cross-fitted, so that each is made without the
own label. A simpler answer has to be better by more than the standard error of the paired difference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from scipy.special import expit, log_softmax, softmax

from ldpsim.curator.evidence.evidence import Evidence
from ldpsim.curator.learning.node_evidence import SMOOTHED_PENALTIES, ln_scores, ridge_scores, taught
from ldpsim.curator.learning.pool import cross_fitted, fit_pool
from ldpsim.curator.linear.propagation import smoothed_rows, spread_rows
from ldpsim.curator.linear.scaling import standardised_rows
from ldpsim.curator.links.belief_propagation import Beliefs, Pairs, propagate_beliefs
from ldpsim.curator.links.class_affinity import believed_counts, edge_probability, labelled_counts, normalised, shrunk
from ldpsim.curator.links.common_partners import closure_score
from ldpsim.curator.links.degree_estimates import moments
from ldpsim.curator.links.edge_prior import EdgePrior, Scored, fit_edge_prior, sample_pairs
from ldpsim.curator.links.link_evidence import LinkEvidence
from ldpsim.curator.links.pair_scores import Scores
from ldpsim.curator.reports.labels import LabelEvidence
from ldpsim.devices.array_types import DoubleArray, FloatArray, IntArray

SEED = 0  # of the sampled pairs
LIKELY = 0.02  # smallest probability of an edge that is kept
ROUNDS = 4
TOLERANCE = 1e-2
_LEAST = 1e-6
EIGENVECTORS = 48
_EIGENVALUES_WITHIN = 1e-2  # the space of the eigenvectors counts, not each of them
_MOST_ITERATIONS = 200
_LARGEST_INVERSE = 2048  # rows of a matrix to invert for each penalty
POOL, BELIEFS, FEATURES, LARGEST = "pool", "beliefs", "features", "largest class"
ON_LINKS, ON_PAIRS = "label propagation on P", "label propagation on S"


@dataclass(frozen=True, eq=False)
class SparsePosterior:
    """A fitted posterior.

    Args:
        beliefs: Result of the last belief propagation.
        pairs: The pairs S with their base probability.
        probability: float64 (m,): posterior of an edge for each pair of S, without any own label of its ends.
        affinity: float64 (classes, classes): Om.
        prior: The edge prior.
        rounds: Number of rounds.
        change: Mean change of a belief in the last round.
    """

    beliefs: Beliefs = field(repr=False)
    pairs: Pairs = field(repr=False)
    probability: NDArray[np.float64] = field(repr=False)
    affinity: FloatArray = field(repr=False)
    prior: EdgePrior
    rounds: int
    change: float

    @property
    def stopped(self) -> str:
        """Reason why the rounds ended."""
        return "beliefs settled" if self.change <= TOLERANCE else "largest number of rounds"


def fit_block_model(
    evidence: LinkEvidence, people: FloatArray, own: FloatArray, labels: FloatArray, scores: Scores | None,
    *, seed: int,
) -> SparsePosterior:  # fmt: skip
    """Fit the posterior.

    Args:
        evidence: The reports about pairs.
        people: float64 (n, classes): log-probability of each class from everything but links and own labels.
        own: float64 (n, classes): log-likelihood of the own label's report; 0 where there is none.
        labels: float64 (n, classes): one-hot labels, or an unbiased estimate of them; zeros where there is none.
        scores: Public scores of pairs, or None.
        seed: Seed of the sampled pairs.
    """
    estimates = moments(evidence)
    activity = estimates.activity
    sample = sample_pairs(evidence, seed)
    ends = np.concatenate([_pair_scores(scores, evidence.left, evidence.right),
                           _pair_scores(scores, sample.left, sample.right)])  # fmt: skip
    left, right = (np.log(estimates.activity_without(end)) for end in (evidence.left, evidence.right))
    log_activity = np.log(activity)
    degrees = np.concatenate([left + right, log_activity[sample.left] + log_activity[sample.right]])
    columns = np.concatenate([ends, degrees[:, None]], axis=1)
    count = len(evidence)

    share = softmax(people, axis=1)
    mean = _mean_class(softmax(people + own, axis=1), activity)
    affinity = normalised(shrunk(labelled_counts(evidence, labels, activity, estimates.density)), mean)
    cavities = share[evidence.left], share[evidence.right]
    every_left = np.concatenate([evidence.left, sample.left])
    every_right = np.concatenate([evidence.right, sample.right])
    prior, taken, change, table = None, 0, np.inf, columns
    while taken < ROUNDS and change > TOLERANCE:
        agreement = _agreement(*cavities, affinity), _agreement(share[sample.left], share[sample.right], affinity)
        ones = Scored(table[:count], agreement[0], evidence.strength, np.ones(count))
        zeros = Scored(table[count:], agreement[1], -sample.strength, sample.weight)
        start = prior if taken > 1 else None  # the second round has one score more than the first
        prior = fit_edge_prior(ones, zeros, estimates.density, start)
        base = expit(prior.log_odds(table))
        pairs = Pairs(evidence.n, evidence.left, evidence.right, base[:count], evidence.strength)
        density = float(np.average(base[count:], weights=sample.weight)) if len(sample.left) else estimates.density
        partners = _expected_partners(evidence, density, activity)
        beliefs = propagate_beliefs(pairs, people, own, affinity, evidence.resolution * partners)
        now = softmax(beliefs.total, axis=1)
        change = float(np.abs(now - share).sum(axis=1).mean())
        share, taken = now, taken + 1
        counts = believed_counts(evidence, pairs, beliefs, own, affinity, activity, density)
        mean = _mean_class(softmax(beliefs.total + own, axis=1), activity)
        affinity = normalised(np.sqrt(affinity * shrunk(counts)), mean)
        cavities = beliefs.left_cavity.astype(np.float64), beliefs.right_cavity.astype(np.float64)
        likely = edge_probability(pairs, beliefs, own, affinity)
        edges = likely >= LIKELY
        weights = symmetric(evidence.left[edges], evidence.right[edges], likely[edges], evidence.n)
        table = np.concatenate([columns, closure_score(weights, every_left, every_right)[:, None]], axis=1)
    assert prior is not None
    probability = np.asarray(edge_probability(pairs, beliefs, None, affinity), np.float64)
    return SparsePosterior(beliefs, pairs, probability, affinity, prior, taken, change)


def symmetric(left: IntArray, right: IntArray, values: FloatArray, n: int) -> csr_array:
    """float32 CSR (n, n): the pairs' values in both directions."""
    half = coo_array((values.astype(np.float32), (left, right)), shape=(n, n))
    return csr_array(half + half.T)


def _pair_scores(scores: Scores | None, left: IntArray, right: IntArray) -> NDArray[np.float64]:
    return np.zeros((len(left), 0)) if scores is None else scores(left, right)


def _agreement(left: FloatArray, right: FloatArray, affinity: FloatArray) -> NDArray[np.float64]:
    return np.log(np.maximum(np.einsum("ij,ij->i", left @ affinity, right), 1e-3))


def _mean_class(share: FloatArray, activity: FloatArray) -> NDArray[np.float64]:
    """float64 (classes,): class distribution of an edge's end."""
    return np.maximum(np.asarray(activity @ share / activity.sum()), _LEAST)


def _expected_partners(evidence: LinkEvidence, density: float, activity: FloatArray) -> NDArray[np.float64]:
    """float64 (n,): D_i, among the partners with a report about the pair."""
    seen = evidence.partners[:, 1:].sum(axis=1)
    return np.asarray(seen * density * activity / activity.mean())


def graph_components(
    rows: Any, links: csr_array, pairs: csr_array, evidence: LabelEvidence, train: IntArray
) -> tuple[dict[str, DoubleArray], dict[str, DoubleArray]]:
    """float64 (n, classes) by name: components without own labels, and late ones; none without a label or a link.

    Args:
        rows: (n, d) of length 1 (:func:`ldpsim.curator.learning.node_evidence.unit_rows`); None for no features.
        links: P, symmetric CSR (n, n).
        pairs: S, symmetric CSR (n, n) of ones.
        evidence: Labels, public or reported.
        train: Training people with a label.
    """
    if not len(train) or not links.nnz:
        return {}, {}
    early = {}
    if rows is not None:
        smoothed = smoothed_rows(rows, links)
        early["smoothed features"] = ln_scores(ridge_scores(smoothed, train, evidence, _few(smoothed, train, evidence)))
    early["spectrum"] = ln_scores(ridge_scores(spectrum(links), train, evidence))
    labels = evidence.probabilities(train)
    return early, {ON_LINKS: _propagated(links, labels, train), ON_PAIRS: _propagated(pairs, labels, train)}


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


def _few(rows: Any, train: IntArray, labels: LabelEvidence) -> tuple[float, ...]:
    """Return the penalties, or where a large matrix must be inverted the best one for a part of the people."""
    if min(rows.shape[1], len(train)) <= _LARGEST_INVERSE:
        return SMOOTHED_PENALTIES
    part = train[:: -(-len(train) // _LARGEST_INVERSE)]
    return (taught(rows, part, labels, SMOOTHED_PENALTIES).penalty,)


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
    accuracy = {name: float(row.mean()) if len(val) else math.nan for name, row in hits.items()}
    return GuardedAnswer(chosen, pool.log_probability if chosen == POOL else simpler[chosen], pool.exponents, accuracy)


def _hits(scores: DoubleArray, labels: LabelEvidence, nodes: IntArray) -> DoubleArray:
    return (scores[nodes].argmax(axis=1) == labels.labels[nodes]).astype(np.float64)


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
        model, answer = self.model, self.answer
        return {
            "answer": answer.chosen,
            "validation_accuracy": dict(answer.accuracy),
            "exponents": dict(answer.exponents),
            "pairs": len(model.pairs.left),
            "expected_edges": float(model.probability.sum()),
            "rounds": model.rounds,
            "stopped": model.stopped,
        }


def estimate(evidence: Evidence) -> Estimate:
    """Return the posterior of the evidence; training labels are the sources."""
    people, sources = evidence.people.log_probability, evidence.train
    labels, own = evidence.class_estimates(sources), evidence.own(sources)
    model = fit_block_model(evidence.links, people, own, labels, evidence.scores, seed=SEED)
    likely, pairs = model.probability >= LIKELY, model.pairs
    left, right, probability = pairs.left[likely], pairs.right[likely], model.probability[likely]
    links = symmetric(left, right, probability, len(people))
    agreed = symmetric(pairs.left, pairs.right, np.ones(len(pairs.left)), len(people))
    early, late = graph_components(evidence.rows, links, agreed, evidence.labels, sources)
    components, simpler = {BELIEFS: log_softmax(model.beliefs.total, axis=1), **early}, {}
    if evidence.people.components:
        components[FEATURES] = simpler[FEATURES] = people
    if late:
        simpler[ON_PAIRS] = late[ON_PAIRS]
    simpler[LARGEST] = np.tile(np.log(np.maximum(labels.sum(axis=0), 0) + 1), (len(people), 1))
    prior = {name: float(name == BELIEFS) for name in components}
    answer = guarded_answer(components, simpler, evidence.labels, evidence.val, train=sources, late=late, prior=prior)
    return Estimate(answer, model, {**components, **late}, left, right, probability)
