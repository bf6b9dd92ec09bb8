"""Knowledge of the curator from votes: class probabilities from features, the votes so far, and the pool of both.

    ln P_i(c) = a ln Q_i(c) + b ln M[c, class that i reports] + constant

with Q from public features (:mod:`ldpsim.curator.features.feature_posterior`) and the exponents a, b >= 0 of the
smallest negative log-likelihood of the known labels. The votes are dropped altogether where they do not lower this
measure for people who were not used for the exponents.

The channel M from the class to a vote is learned from people whose label is known, who vote too:

    M[c, r] = (N[c, r] + k N[., r] / N) / (N[c, .] + k)

counts them, with k prior counts that say nothing about the class. Their reports are answers of the same kind as
everybody's, so M holds the noise and the homophily at once. Nothing is inverted, and M is right as well for people who
vote against their class. The row of a labelled person leaves its own count out: nobody's label reaches its own
row. Where only a noisy report of the label is known, the counts are expectations over the class.

Each person is asked in one batch, and each batch has a channel of its own. People without a label are asked in falling
order of certainty: the later ones, about whom less is known, vote on what the earlier ones have reported. Labelled
people are dealt to the batches, and in a batch to folds, because their labels stand in the published table: the table
of a fold does not tell its own labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldpsim.curator.knowledge.knowledge import Knowledge
from ldpsim.curator.learning.folds import folds_of
from ldpsim.curator.learning.pool import cross_fitted, fit_pool
from ldpsim.curator.linear.array_digest import LastResults, array_digest
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.votes.calibration import CALIBRATION_HOMOPHILY, HOMOPHILIES, kept_share, posterior_mean, right_share
from ldpsim.devices.array_types import BoolArray, DoubleArray, IntArray
from ldpsim.devices.facts import PublicKnowledge, Split

FEATURES, VOTE = "features", "vote"
PRIOR = {FEATURES: 1.0, VOTE: 1.0}  # exponents before a label is seen
PRIOR_COUNT = 10.0
FOLDS = 10
_FEATURES = LastResults[DoubleArray]()


@dataclass(frozen=True, eq=False)
class VotePosterior:
    """Labels, and the log-probabilities of everybody's class from features and from votes.

    Args:
        labels: Labels, public or reported.
        label_rows: float64 (n, classes): P(label) of a labelled person without the own vote; zeros for all others.
        components: ln-probabilities by name, float64 (n, classes): :data:`FEATURES`, and :data:`VOTE` after a vote.
        voted: bool (n,): people whose vote is known.
    """

    labels: ObservedLabels = field(repr=False)
    label_rows: DoubleArray = field(repr=False)
    components: Mapping[str, DoubleArray] = field(repr=False)
    voted: BoolArray = field(repr=False)

    def posterior(self, nodes: IntArray) -> tuple[DoubleArray, Mapping[str, float]]:
        """Return ln P, float64 (n, classes), and the exponents, fitted on labels of those of ``nodes`` who voted."""
        if VOTE not in self.components:
            return self.components[FEATURES], {FEATURES: 1.0}
        nodes = nodes[self.voted[nodes]]
        parts = dict(self.components)
        if len(nodes):
            truth = self.labels.log_likelihood(nodes)
            without_votes = {FEATURES: parts[FEATURES]}
            losses = [
                _negative_log_likelihood(cross_fitted(pooled, self.labels, nodes, prior=PRIOR)[nodes], truth)
                for pooled in (parts, without_votes)
            ]
            if losses[0] > losses[1]:
                parts = without_votes
        pool = fit_pool(parts, self.labels, nodes, prior=PRIOR)
        return pool.log_probability, {VOTE: 0.0, **pool.exponents}


def knowledge(reports: Reports | None, public: PublicKnowledge) -> VotePosterior:
    """Return what the curator knows from public data and the reports so far; ``reports`` is None before any report."""
    prior_knowledge, split = Knowledge(reports, public), public.split
    labels, features = prior_knowledge.labels, _features(prior_knowledge)
    nodes = labels.with_label(split.labelled)
    shares = labels.log_likelihood(nodes) + (0 if labels.in_clear else features[nodes])
    rows = labels.placed(nodes, np.exp(shares - np.logaddexp.reduce(shares, axis=1, keepdims=True)))
    components, voted = {FEATURES: features}, np.zeros(public.facts.n, np.bool_)
    batches = [] if reports is None else [batch for batch in reports_by_batch(reports, split) if batch]
    if batches:
        votes = np.zeros_like(features)
        for batch in batches:
            classes = np.max([reported_classes(part) for part in batch], axis=0)
            people = np.flatnonzero(classes >= 0)
            voted[people] = True
            votes[people] = vote_log_likelihood(classes[people], rows[people])
        components[VOTE] = votes
    return VotePosterior(labels, rows, components, voted)


def reports_by_batch(reports: Reports, split: Split) -> list[list[Reports]]:
    """Return the parts of each batch of votes, and last those of a batch that has not ended.

    A batch ends with the part whose people are not all labelled.
    """
    batches: list[list[Reports]] = [[]]
    for part in reports.of_field("votes"):
        batches[-1].append(part)
        if not np.isin(np.flatnonzero(part.recipients["adjacency"]), split.labelled).all():
            batches.append([])
    return batches


def reported_classes(part: Reports) -> IntArray:
    """int64 (n,): the class that each person reports; the number of classes for "no known friend", -1 for no report."""
    mechanism: Any = part.source("votes")
    places = part.needed("votes")
    classes = np.full(len(places), -1, np.int64)
    people = np.flatnonzero(places >= 0)
    ranked = np.column_stack(
        [mechanism.ranked[people, : mechanism.candidates], np.full(len(people), mechanism.classes)]
    )
    classes[people] = ranked[np.arange(len(people)), places[people]]
    return classes


def vote_log_likelihood(reports: IntArray, labels: DoubleArray, *, prior: float = PRIOR_COUNT) -> DoubleArray:
    """float64 (m, classes): ln M[class, report] of each vote.

    Args:
        reports: int64 (m,): reported classes, the number of classes for "no known friend".
        labels: float64 (m, classes): P(label) of each: one-hot, a distribution, or zeros where nothing is known.
        prior: k.
    """
    counts = np.zeros((labels.shape[1] + 1, labels.shape[1]))
    np.add.at(counts, reports, labels)
    overall = counts.sum(axis=1) + 1  # one more person for each report
    base = (overall / overall.sum())[reports, None]
    # everything less what the person itself has given
    return np.asarray(np.log((counts[reports] - labels + prior * base) / (counts.sum(axis=0) - labels + prior)))


def people_of_batch(
    split: Split, certainty: DoubleArray, recipients: BoolArray, *, batches: int, number: int
) -> tuple[IntArray, ...]:
    """Return the folds of labelled people of a batch, and last everybody else who is asked in it.

    Args:
        split: Division of the people.
        certainty: float (n,): the more is known, the earlier a person without a label is asked; ties by number.
        recipients: bool (n,): people of earlier batches.
        batches: Number of batches.
        number: The batch, from 0.
    """
    labelled = np.sort(split.labelled)
    labelled = labelled[folds_of(len(labelled), batches, seed=0) == number]
    fold = folds_of(len(labelled), FOLDS, seed=0)
    folds = [labelled[fold == place] for place in range(int(fold.max(initial=-1)) + 1)]
    waiting = np.setdiff1d(np.flatnonzero(~recipients), split.labelled)
    now = -(-len(waiting) // (batches - number))
    return *folds, np.sort(waiting[np.argsort(-certainty[waiting], kind="stable")[:now]])


def homophily_of_votes(reports: Reports, public: PublicKnowledge, shares: DoubleArray) -> float | None:
    """Return how much friends are alike by the votes of people whose label is public; None without such a vote.

    The share of votes that name the own label is compared with the share that each homophily lets expect
    (:func:`ldpsim.curator.votes.calibration.right_share`). People whose label is no candidate of theirs are left out.

    Args:
        reports: The reports, with votes.
        public: Public knowledge.
        shares: float64 (classes,): class shares.
    """
    prior_knowledge = Knowledge(reports, public)
    labels, people = prior_knowledge.labels.labels, prior_knowledge.labels.with_label(np.sort(public.split.labelled))
    parts = reports.of_field("votes")
    if not prior_knowledge.labels.in_clear or not parts or not len(people):
        return None
    hits = voters = 0
    for part in parts:
        mechanism: Any = part.source("votes")
        votes = reported_classes(part)[people]
        is_candidate = (mechanism.ranked[people, : mechanism.candidates] == labels[people, None]).any(axis=1)
        counted = (votes >= 0) & is_candidate
        hits, voters = hits + int(np.sum(counted & (votes == labels[people]))), voters + int(counted.sum())
    if not voters:
        return None
    scores = np.zeros((len(people), len(shares))) if public.features is None else _features(prior_knowledge)[people]
    rows, counts = np.unique(np.eye(len(shares))[labels[people]], axis=0, return_counts=True)
    given = (scores, labels[people], rows, counts, shares)
    expected = [
        right_share(*given, h, scored=CALIBRATION_HOMOPHILY, candidates=mechanism.candidates) for h in HOMOPHILIES
    ]
    kept = kept_share(parts[0].source("votes").loss().vector, mechanism.choices)
    return posterior_mean(hits, voters, kept, np.array(expected), values=mechanism.choices)


def _features(prior_knowledge: Knowledge) -> DoubleArray:
    """Return what features say, read-only; the batches of a collection ask for the same."""
    labels, split = prior_knowledge.labels, prior_knowledge.public.split
    arrays = (labels.labels, split.train, split.val, labels.log_likelihoods, labels.supports)
    key = array_digest(prior_knowledge.public.features, *arrays)

    def made() -> DoubleArray:
        log_probability = prior_knowledge.people.log_probability
        log_probability.flags.writeable = False
        return log_probability

    return _FEATURES.of(key, made)


def _negative_log_likelihood(log_probability: DoubleArray, log_likelihood: DoubleArray) -> float:
    """Return -ln P(labels), from ln P of each class and the log-likelihood of each label, (k, classes)."""
    return float(-np.logaddexp.reduce(log_probability + log_likelihood, axis=1).sum())
