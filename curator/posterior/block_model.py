"""Block model with degrees, scores of pairs and class distributions of people.

A round fits the prior of an edge to the reports (:mod:`ldpsim.curator.links.edge_prior`) given the beliefs about both
ends, propagates the beliefs (:mod:`ldpsim.curator.links.belief_propagation`), and estimates the affinity of classes
again. That is an EM algorithm over labels, affinities and edge probabilities. It ends once a round changes the
beliefs by little.

The scores of a pair are the given ones (similarity of features), the sum of both log-activities, and from the second
round on the number of common partners. The log-agreement ln q_i' Om q_j of what is believed about both ends is the
offset. For a pair in S the activities are without this pair's hit, and the beliefs without this pair's message. No
belief depends on its person's label.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.special import expit, softmax

from ldpsim.curator.links.belief_propagation import Beliefs, Pairs, propagate_beliefs
from ldpsim.curator.links.class_affinity import believed_counts, edge_probability, labelled_counts, normalised, shrunk
from ldpsim.curator.links.common_partners import closure_score
from ldpsim.curator.links.degree_estimates import moments
from ldpsim.curator.links.edge_prior import EdgePrior, Scored, fit_edge_prior, sample_pairs
from ldpsim.curator.links.link_likelihood import LinkLikelihood
from ldpsim.curator.links.pair_scores import Scores
from ldpsim.devices.array_types import FloatArray, IntArray

LIKELY = 0.02  # smallest probability of an edge that is kept
ROUNDS = 4
TOLERANCE = 1e-2
_LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class SparsePosterior:
    """A fitted posterior.

    Args:
        beliefs: Result of the last belief propagation.
        pairs: The pairs S with their base probability.
        probability: float64 (m,): posterior of an edge for each pair of S, without the labels of its ends.
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
    likelihood: LinkLikelihood, people: FloatArray, label_log_likelihood: FloatArray, labels: FloatArray,
    scores: Scores | None, *, seed: int,
) -> SparsePosterior:  # fmt: skip
    """Fit the posterior.

    Args:
        likelihood: The reports about pairs.
        people: float64 (n, classes): log-probability of each class from everything but links and the person's label.
        label_log_likelihood: float64 (n, classes): of the person's label or report of it; 0 where there is none.
        labels: float64 (n, classes): one-hot labels, or an unbiased estimate of them; zeros where there is none.
        scores: Public scores of pairs, or None.
        seed: Seed of the sampled pairs.
    """
    estimates = moments(likelihood)
    activity = estimates.activity
    sample = sample_pairs(likelihood, seed)
    ends = np.concatenate([_pair_scores(scores, likelihood.left, likelihood.right),
                           _pair_scores(scores, sample.left, sample.right)])  # fmt: skip
    left, right = (np.log(estimates.activity_without(end)) for end in (likelihood.left, likelihood.right))
    log_activity = np.log(activity)
    degrees = np.concatenate([left + right, log_activity[sample.left] + log_activity[sample.right]])
    columns = np.concatenate([ends, degrees[:, None]], axis=1)
    count = len(likelihood)

    share = softmax(people, axis=1)
    mean = _mean_class(softmax(people + label_log_likelihood, axis=1), activity)
    affinity = normalised(shrunk(labelled_counts(likelihood, labels, activity, estimates.density)), mean)
    cavities = share[likelihood.left], share[likelihood.right]
    every_left = np.concatenate([likelihood.left, sample.left])
    every_right = np.concatenate([likelihood.right, sample.right])
    prior, rounds, change, table = None, 0, np.inf, columns
    while rounds < ROUNDS and change > TOLERANCE:
        agreement = _agreement(*cavities, affinity), _agreement(share[sample.left], share[sample.right], affinity)
        ones = Scored(table[:count], agreement[0], likelihood.strength, np.ones(count))
        zeros = Scored(table[count:], agreement[1], -sample.strength, sample.weight)
        start = prior if rounds > 1 else None  # the second round has one score more than the first
        prior = fit_edge_prior(ones, zeros, estimates.density, start)
        base = expit(prior.log_odds(table))
        pairs = Pairs(likelihood.n, likelihood.left, likelihood.right, base[:count], likelihood.strength)
        density = float(np.average(base[count:], weights=sample.weight)) if len(sample.left) else estimates.density
        partners = _expected_partners(likelihood, density, activity)
        beliefs = propagate_beliefs(pairs, people, label_log_likelihood, affinity, likelihood.resolution * partners)
        new_share = softmax(beliefs.total, axis=1)
        change = float(np.abs(new_share - share).sum(axis=1).mean())
        share, rounds = new_share, rounds + 1
        counts = believed_counts(likelihood, pairs, beliefs, label_log_likelihood, affinity, activity, density)
        mean = _mean_class(softmax(beliefs.total + label_log_likelihood, axis=1), activity)
        affinity = normalised(np.sqrt(affinity * shrunk(counts)), mean)
        cavities = beliefs.left_cavity.astype(np.float64), beliefs.right_cavity.astype(np.float64)
        given_labels = edge_probability(pairs, beliefs, label_log_likelihood, affinity)
        edges = given_labels >= LIKELY
        weights = symmetric(likelihood.left[edges], likelihood.right[edges], given_labels[edges], likelihood.n)
        table = np.concatenate([columns, closure_score(weights, every_left, every_right)[:, None]], axis=1)
    assert prior is not None
    probability = np.asarray(edge_probability(pairs, beliefs, None, affinity), np.float64)
    return SparsePosterior(beliefs, pairs, probability, affinity, prior, rounds, change)


def _pair_scores(scores: Scores | None, left: IntArray, right: IntArray) -> NDArray[np.float64]:
    return np.zeros((len(left), 0)) if scores is None else scores(left, right)


def _agreement(left: FloatArray, right: FloatArray, affinity: FloatArray) -> NDArray[np.float64]:
    return np.log(np.maximum(np.einsum("ij,ij->i", left @ affinity, right), 1e-3))


def _mean_class(share: FloatArray, activity: FloatArray) -> NDArray[np.float64]:
    """float64 (classes,): class distribution of an edge's end."""
    return np.maximum(np.asarray(activity @ share / activity.sum()), _LEAST)


def _expected_partners(likelihood: LinkLikelihood, density: float, activity: FloatArray) -> NDArray[np.float64]:
    """float64 (n,): D_i, among the partners with a report about the pair."""
    partners = likelihood.partners[:, 1:].sum(axis=1)
    return np.asarray(partners * density * activity / activity.mean())


def symmetric(left: IntArray, right: IntArray, values: FloatArray, n: int) -> csr_array:
    """float32 CSR (n, n): the pairs' values in both directions."""
    half = coo_array((values.astype(np.float32), (left, right)), shape=(n, n))
    return csr_array(half + half.T)
