"""Knowledge of the curator where volunteers give label and features in clear, and everybody else gives one answer.

Nothing is known of an ordinary person before the answer r, and everybody chooses among all classes. So

    P(c | r) = pi_c M[c, r] / sum over the classes of the same,    M = T G,

with the volunteers' class shares pi (one more person in each class), and G of the response: GRR keeps the choice with
probability k, and else draws a class. T[c, v] is how often a person of class c chooses v. It is estimated without an
answer of volunteers, by what the model of own features says of them when it has not seen their label:

    T[c, v] = a [c = v] + (1 - a) q_v,

where q are the shares of what it says, and a is its agreement with the labels beyond chance (Cohen's kappa, at least
0). The list makes a choice better than this in most graphs: the rows of the table are then a little too unsure. Where
the model says nothing, a is 0 and everybody gets the largest class.

Where labels are asked too, T of a label is the identity. Some people who know theirs are *witnesses*: they answer
whether the vote that they would give is their label. So a is how often votes are right, less one standard error, beyond
the chance of two independent draws from pi and from q; q are the shares of the votes themselves.

Answers about the list alone have the homophily in the place of a, because nothing that is known tells it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ldpsim.curator.learning.naive_bayes import folds_of
from ldpsim.curator.linear.array_digest import LastAnswers, array_digest
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.votes.affinity import kept_share
from ldpsim.curator.votes.own_model import OwnModel, own_model
from ldpsim.devices.array_types import BoolArray, DoubleArray, IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge

_MODELS = LastAnswers[OwnModel]()


@dataclass(frozen=True, eq=False)
class NamedClasses:
    """Reports of a class through GRR.

    Args:
        people: int64 (k,): who reported.
        reports: int64 (k,): the classes.
        kept: k of the response.
    """

    people: IntArray = field(repr=False)
    reports: IntArray = field(repr=False)
    kept: float

    def shares(self, classes: int) -> DoubleArray:
        """float64 (classes,): of the classes before the response, one more person in each."""
        seen = np.bincount(self.reports, minlength=classes) / max(1, len(self.reports))
        before = np.maximum((seen - (1 - self.kept) / classes) / self.kept, 0.0) * len(self.reports) + 1
        return np.asarray(before / before.sum())

    def likelihood(self, chosen: DoubleArray) -> DoubleArray:
        """float64 (k, classes): of each report, for each class of a person who chooses by ``chosen``, T."""
        classes = len(chosen)
        law = chosen @ (self.kept * np.eye(classes) + (1 - self.kept) / classes)
        return np.asarray(law[:, self.reports].T)


@dataclass(frozen=True, eq=False)
class Volunteered:
    """Knowledge from the volunteers' records and the answers so far.

    Args:
        facts: Sizes and classes.
        people: int64 (m,), sorted: volunteers who gave their record.
        labels: int64 (m,): their classes.
        own: The model of own features; None for a population without features.
        votes: Votes; None before the first batch.
        told: Labels of ordinary people under noise; None where they are not asked.
        agreement: a; None: that of the model of own features.
        right: How often a vote is right, as witnesses say; None without any, and else it decides a.
    """

    facts: PublicFacts
    people: IntArray = field(repr=False)
    labels: IntArray = field(repr=False)
    own: OwnModel | None = field(repr=False)
    votes: NamedClasses | None = field(default=None, repr=False)
    told: NamedClasses | None = field(default=None, repr=False)
    agreement: float | None = None
    right: float | None = None

    @cached_property
    def shares(self) -> DoubleArray:
        """float64 (classes,): pi."""
        counts = np.bincount(self.labels, minlength=self.facts.classes) + 1.0
        return np.asarray(counts / counts.sum())

    @cached_property
    def chosen(self) -> DoubleArray:
        """float64 (classes, classes): T."""
        classes = self.facts.classes
        if self.right is not None and self.votes is not None:
            shares = self.votes.shares(classes)
            by_chance = float(self.shares @ shares)
            agreed = min(1.0, max(0.0, (self.right - by_chance) / (1 - by_chance)))
            return np.asarray(agreed * np.eye(classes) + (1 - agreed) * shares)
        said = np.zeros_like(self.labels) if self.own is None else self.own.log_probability.argmax(axis=1)
        shares = (np.bincount(said, minlength=classes) + 1) / (len(said) + classes)
        agreed = beyond_chance(said, self.labels, classes) if self.agreement is None else self.agreement
        return np.asarray(agreed * np.eye(classes) + (1 - agreed) * shares)

    @cached_property
    def answered(self) -> BoolArray:
        """bool (n,): ordinary people whose answer is known."""
        found = np.zeros(self.facts.n, np.bool_)
        for named, _ in self._named():
            found[named.people] = True
        return found

    @cached_property
    def probability(self) -> DoubleArray:
        """float64 (n, classes): of everybody's class. A volunteer's row is by a fit without the own label.

        People of whom nothing is known have the class shares.
        """
        found = np.tile(self.shares, (self.facts.n, 1))
        if self.own is not None:
            found[self.people] = np.exp(self.own.log_probability)
        for named, chosen in self._named():
            odds = self.shares * named.likelihood(chosen)
            found[named.people] = odds / odds.sum(axis=1, keepdims=True)
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

    def _named(self) -> list[tuple[NamedClasses, DoubleArray]]:
        """Return the answers of ordinary people, each with its T."""
        found = [] if self.told is None else [(self.told, np.eye(self.facts.classes))]
        return found if self.votes is None else [*found, (self.votes, self.chosen)]


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
    told, votes = (_named_in(reports, field) for field in ("labels", "votes"))
    return Volunteered(facts, people, labels[people], own, votes, told, agreement, _right_votes(reports))


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


def next_voters(n: int, others: IntArray, asked: BoolArray, *, batches: int) -> IntArray:
    """int64, sorted: the people of the next batch of votes; nobody where all were asked.

    They are dealt to the batches without a look at anything private.

    Args:
        n: Number of people.
        others: int64: people who do not vote.
        asked: bool (n,): people of earlier batches.
        batches: Number of batches.
    """
    voters = np.setdiff1d(np.arange(n), others)
    dealt = folds_of(len(voters), batches, seed=0)
    waiting = ~asked[voters]
    if not waiting.any():
        return voters[:0]
    return voters[waiting & (dealt == dealt[waiting].min())]


def _named_in(reports: Reports, name: str) -> NamedClasses | None:
    """Return the classes that people reported under noise in this field; None where there are none.

    All parts ask with one loss.
    """
    parts = [
        part for part in reports.of_field(name) if not part.source(name).in_clear and not _of_witnesses(part, name)
    ]
    if not parts:
        return None
    who = np.logical_or.reduce([part.needed(name) >= 0 for part in parts])
    kept = kept_share(parts[0].source(name).loss().vector, reports.facts.classes)
    return NamedClasses(np.flatnonzero(who), reports.needed(name)[who], kept)


def _right_votes(reports: Reports) -> float | None:
    """Return how often a vote is right, as the witnesses say, less one standard error; None without witnesses.

    The noise is taken out. The standard error keeps the luck of few witnesses from counting as agreement.
    """
    parts = [part for part in reports.of_field("votes") if _of_witnesses(part, "votes")]
    said = np.concatenate([part.needed("votes")[part.needed("votes") >= 0] for part in parts] or [np.zeros(0)])
    if not len(said):
        return None
    kept = kept_share(parts[0].source("votes").loss().vector, 2)
    mean = (said.sum() + 1) / (len(said) + 2)
    return float((mean - np.sqrt(mean * (1 - mean) / len(said)) - (1 - kept) / 2) / kept)


def _of_witnesses(part: Reports, name: str) -> bool:
    return bool(getattr(part.source(name), "agreement", False))
