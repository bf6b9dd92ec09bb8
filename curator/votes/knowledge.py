"""Knowledge of the curator between the batches: class evidence, votes so far, and the pool of both.

    ln P_i(c) = a ln Q_i(c) + b ln M[place of c, report of i] + b' ln M'[c, class that i reports] + constant

with Q from public features (:mod:`ldpsim.curator.learning.node_evidence`), the laws M and M' of
:mod:`ldpsim.curator.votes.law` and the exponents a, b, b' >= 0 of the smallest negative log-likelihood of the known
labels. b and b' are 0 where the votes say nothing. The votes are dropped altogether where they do not lower this
measure for people who were not used for the exponents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ldpsim.curator.evidence.evidence import Evidence
from ldpsim.curator.learning.pool import cross_fitted, fit_pool
from ldpsim.curator.linear.array_digest import LastAnswers, array_digest
from ldpsim.curator.reports.labels import LabelEvidence
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.votes.affinity import kept_share, learned_affinity
from ldpsim.curator.votes.law import Ballots, by_class, log_likelihood, places_of
from ldpsim.devices.array_types import BoolArray, DoubleArray, IntArray
from ldpsim.devices.facts import PublicKnowledge, Split

FEATURES, VOTE, CLASS = "features", "vote", "class"
PRIOR = {FEATURES: 1.0, VOTE: 1.0, CLASS: 0.0}  # exponents before a label is seen
_EVIDENCE = LastAnswers[DoubleArray]()


@dataclass(frozen=True, eq=False)
class VoteEvidence:
    """Knowledge of the curator.

    Args:
        labels: Labels, public or reported.
        told: float64 (n, classes): what is known of the label of a labelled person without its vote; else zeros.
        components: ln-probabilities by name, float64 (n, classes).
        voted: bool (n,): people whose vote is known. The answer to the question for an affinity says something of a
            person too, but is no vote: the exponents are not fitted on it.
    """

    labels: LabelEvidence = field(repr=False)
    told: DoubleArray = field(repr=False)
    components: Mapping[str, DoubleArray] = field(repr=False)
    voted: BoolArray = field(repr=False)

    def posterior(self, nodes: IntArray) -> tuple[DoubleArray, Mapping[str, float]]:
        """Return :func:`class_posterior`."""
        return class_posterior(self, nodes)


def knowledge(reports: Reports | None, public: PublicKnowledge, dealt: Split | None = None) -> VoteEvidence:
    """Return what the curator knows from public data and the reports so far.

    Args:
        reports: The reports so far.
        public: What is public.
        dealt: Division by which people were dealt to batches; None for that of ``public``.
    """
    evidence, split = Evidence(reports, public), public.split
    labels, features = evidence.labels, _features(evidence)
    known = labels.known(split.labelled)
    shares = labels.log_likelihood(known) + (0 if labels.soft is None else features[known])
    told = labels.placed(known, np.exp(shares - np.logaddexp.reduce(shares, axis=1, keepdims=True)))
    components, voted = {FEATURES: features}, np.zeros(public.facts.n, np.bool_)
    ballots = [] if reports is None else ballots_of(reports, dealt or split)
    if ballots:
        votes, classes = np.zeros_like(features), np.zeros_like(features)
        for cast in ballots:
            people = cast.people
            voted[people] = not cast.bare
            votes[people] = log_likelihood(cast, told[people])
            classes[people] = log_likelihood(by_class(cast), told[people])
        components |= {VOTE: votes, CLASS: classes}
    return VoteEvidence(labels, told, components, voted)


def class_posterior(known: VoteEvidence, nodes: IntArray) -> tuple[DoubleArray, Mapping[str, float]]:
    """Return ln P, float64 (n, classes), and the exponents, fitted on the labels of those of ``nodes`` who voted."""
    if VOTE not in known.components:
        return known.components[FEATURES], {FEATURES: 1.0}
    nodes = nodes[known.voted[nodes]]
    parts = dict(known.components)
    if len(nodes):
        truth = known.labels.log_likelihood(nodes)
        alone = {FEATURES: parts[FEATURES]}
        with_votes, without = (cross_fitted(some, known.labels, nodes, prior=PRIOR)[nodes] for some in (parts, alone))
        if _surprise(with_votes, truth) > _surprise(without, truth):
            parts = alone
    pool = fit_pool(parts, known.labels, nodes, prior=PRIOR)
    return pool.log_probability, {VOTE: 0.0, CLASS: 0.0, **pool.exponents}


def ballots_of(reports: Reports, split: Split) -> list[Ballots]:
    """Return the votes of each batch and number of values; the folds of a batch are together.

    A batch ends with the part whose people are not all training people.
    """
    found: list[Ballots] = []
    batch: dict[int, list[Ballots]] = {}
    for part in reports.of_field("votes"):
        voters = np.flatnonzero(part.reported("adjacency"))
        values = np.array([_vote_of(part).values_of(person) for person in voters.tolist()], np.int64)
        for number in np.unique(values).tolist():
            batch.setdefault(number, []).append(_cast(part, voters[values == number], number))
        if _ends_batch(part, split):
            found += [_together(cast) for cast in batch.values()]
            batch = {}
    found += [_together(cast) for cast in batch.values()]
    return found


def batches_so_far(reports: Reports, split: Split) -> int:
    """Return the number of batches of votes in the reports; the question for an affinity is none."""
    return sum(_ends_batch(part, split) and not _is_bare(_vote_of(part)) for part in reports.of_field("votes"))


def affinity_from_votes(reports: Reports, known: VoteEvidence) -> DoubleArray | None:
    """Return the affinity that the people who were asked first have told; None where a homophily does as well."""
    for part in reports.of_field("votes"):
        mechanism = _vote_of(part)
        if _is_bare(mechanism):
            people = np.flatnonzero(part.reported("adjacency"))
            named = by_class(_cast(part, people, mechanism.values)).reports
            return learned_affinity(named, known.told[people], kept_share(mechanism.loss().vector, mechanism.values))
    return None


def _vote_of(part: Reports) -> Any:
    return part.source("votes")


def _is_bare(mechanism: Any) -> bool:
    """Return whether this is the question for an affinity: its answer depends on the list alone."""
    return not mechanism.own


def _ends_batch(part: Reports, split: Split) -> bool:
    return not np.isin(np.flatnonzero(part.asked["adjacency"]), split.train).all()


def _cast(part: Reports, people: IntArray, values: int) -> Ballots:
    """Return the votes of people who choose from this many values."""
    mechanism = _vote_of(part)
    width = values - getattr(mechanism, "unseen", False)
    places = places_of(mechanism.ranked[people], width)
    return Ballots(people, places, part.needed("votes")[people], width, values, _is_bare(mechanism))


def _together(cast: list[Ballots]) -> Ballots:
    return replace(
        cast[0],
        people=np.concatenate([ballots.people for ballots in cast]),
        places=np.concatenate([ballots.places for ballots in cast]),
        reports=np.concatenate([ballots.reports for ballots in cast]),
    )


def _features(evidence: Evidence) -> DoubleArray:
    """Return what features say, read-only."""
    told, split = evidence.labels, evidence.public.split
    key = array_digest(evidence.public.features, told.labels, split.train, split.val, told.soft, told.rows)

    def made() -> DoubleArray:
        found = evidence.people.log_probability
        found.flags.writeable = False
        return found

    return _EVIDENCE.of(key, made)


def _surprise(log_probability: DoubleArray, told: DoubleArray) -> float:
    return float(-np.logaddexp.reduce(log_probability + told, axis=1).sum())
