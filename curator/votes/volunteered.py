"""Knowledge of the curator where volunteers give label and features in clear, and everybody else answers one vote.

Nothing is known of an ordinary person before the answer r, and everybody chooses among all classes. So

    P(c | r) = pi_c M[c, r] / sum over the classes of the same,    M = T G,

with the volunteers' class shares pi (one more person in each class), and G of the response: GRR keeps the choice with
probability k, and else draws a class. T[c, v] is how often a person of class c chooses v. It is estimated without an
answer of volunteers, by what the model of own features says of them when it has not seen their label:

    T[c, v] = a [c = v] + (1 - a) q_v,

where q are the shares of what it says, and a is its agreement with the labels beyond chance (Cohen's kappa, at least
0). The list makes a choice better than this in most graphs: the rows of the table are then a little too unsure. Where
the model says nothing, a is 0 and everybody gets the largest class.
Answers about the list alone have the homophily in the place of a, because nothing that is known tells it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from curator.learning.naive_bayes import folds_of
from curator.linear.array_digest import LastAnswers, array_digest
from curator.reports.reports import Reports
from curator.votes.affinity import kept_share
from curator.votes.own_model import OwnModel, own_model
from devices.array_types import BoolArray, DoubleArray, IntArray
from devices.facts import PublicFacts, PublicKnowledge

_MODELS = LastAnswers[OwnModel]()


@dataclass(frozen=True, eq=False)
class Volunteered:
    """Knowledge from the volunteers' records and the answers so far.

    Args:
        facts: Sizes and classes.
        people: int64 (m,), sorted: volunteers who gave their record.
        labels: int64 (m,): their classes.
        own: The model of own features; None for a population without features.
        votes: Reports of votes, int64 (n,), -1 where there is none; None before the first batch.
        kept: k of the response to these votes.
        agreement: a; None: that of the model of own features.
    """

    facts: PublicFacts
    people: IntArray = field(repr=False)
    labels: IntArray = field(repr=False)
    own: OwnModel | None = field(repr=False)
    votes: IntArray | None = field(default=None, repr=False)
    kept: float = 0.0
    agreement: float | None = None

    @cached_property
    def shares(self) -> DoubleArray:
        """float64 (classes,): pi."""
        counts = np.bincount(self.labels, minlength=self.facts.classes) + 1.0
        return np.asarray(counts / counts.sum())

    @cached_property
    def chosen(self) -> DoubleArray:
        """float64 (classes, classes): T."""
        classes = self.facts.classes
        said = np.zeros_like(self.labels) if self.own is None else self.own.log_probability.argmax(axis=1)
        shares = (np.bincount(said, minlength=classes) + 1) / (len(said) + classes)
        agreed = beyond_chance(said, self.labels, classes) if self.agreement is None else self.agreement
        return np.asarray(agreed * np.eye(classes) + (1 - agreed) * shares)

    @cached_property
    def answered(self) -> BoolArray:
        """bool (n,): people whose vote is known."""
        return np.zeros(self.facts.n, np.bool_) if self.votes is None else self.votes >= 0

    @cached_property
    def probability(self) -> DoubleArray:
        """float64 (n, classes): of everybody's class. A volunteer's row is by a fit without the own label.

        People of whom nothing is known have the class shares.
        """
        found = np.tile(self.shares, (self.facts.n, 1))
        if self.own is not None:
            found[self.people] = np.exp(self.own.log_probability)
        if self.votes is not None:
            law = self.chosen @ (self.kept * np.eye(self.facts.classes) + (1 - self.kept) / self.facts.classes)
            odds = self.shares * law[:, self.votes[self.answered]].T
            found[self.answered] = odds / odds.sum(axis=1, keepdims=True)
        return found

    def posterior(self, nodes: IntArray) -> tuple[DoubleArray, Mapping[str, float]]:
        """Return ln P, float64 (n, classes), and no exponents: nothing is fitted on the labels of ``nodes``."""
        return np.log(np.maximum(self.probability, 1e-300)), {}

    @property
    def table(self) -> DoubleArray:
        """float64 (n, classes): what is published; zeros for people of whom nothing is known."""
        rows = np.where(self.answered[:, None], self.probability, 0.0)
        rows[self.people] = np.eye(self.facts.classes)[self.labels]
        return rows


def volunteered(reports: Reports, public: PublicKnowledge, agreement: float | None = None) -> Volunteered:
    """Return what the curator knows from the volunteers' records and the answers so far.

    Args:
        reports: The reports so far.
        public: Public knowledge.
        agreement: As in :class:`Volunteered`.

    Raises:
        ValueError: where no volunteer has answered.
    """
    facts, labels = reports.facts, reports.needed("labels")
    people = public.split.labelled
    people = people[labels[people] >= 0]
    if not len(people):
        raise ValueError("no volunteer has given a label")
    own = None
    if reports.features is not None:
        given = reports.features[people], labels[people]
        own = _MODELS.of(array_digest(*given, start=repr(facts)), lambda: own_model(*given, facts))
    if reports.votes is None:
        return Volunteered(facts, people, labels[people], own)
    kept = kept_share(reports.source("votes").loss().vector, facts.classes)
    return Volunteered(facts, people, labels[people], own, reports.votes, kept, agreement)


def beyond_chance(said: IntArray, labels: IntArray, classes: int) -> float:
    """Return Cohen's kappa, 0 where it is negative or nothing could disagree.

    >>> beyond_chance(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0]), classes=2)
    0.5
    """
    of_said, of_labels = (np.bincount(each, minlength=classes) / max(1, len(each)) for each in (said, labels))
    by_chance = float(of_said @ of_labels)
    if not len(said) or by_chance >= 1:
        return 0.0
    return max(0.0, (float(np.mean(said == labels)) - by_chance) / (1 - by_chance))


def ordinary_people(n: int, volunteers: IntArray, asked: BoolArray, *, batches: int) -> IntArray:
    """int64, sorted: the ordinary people of the next batch; nobody where all were asked.

    They are dealt to the batches without a look at anything private.

    Args:
        n: Number of people.
        volunteers: int64: people who are in no batch.
        asked: bool (n,): people of earlier batches.
        batches: Number of batches.
    """
    ordinary = np.setdiff1d(np.arange(n), volunteers)
    dealt = folds_of(len(ordinary), batches, seed=0)
    waiting = ~asked[ordinary]
    if not waiting.any():
        return ordinary[:0]
    return ordinary[waiting & (dealt == dealt[waiting].min())]
