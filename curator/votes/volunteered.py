"""Knowledge of the curator where volunteers give label and features in clear, and everybody else answers one vote.

Nothing is known of an ordinary person before the answer r, and everybody chooses among all classes. So

    P(c | r) = pi_c M[c, r] / sum over the classes of the same,    M = T G,

with the volunteers' class shares pi (one more person in each class), and G of the response: GRR keeps the choice with
probability k, and else draws a class. T[c, v] is how often a person of class c chooses v. It is estimated without an
answer of volunteers, by what the model of own features says of them when it has not seen their label:

    T[c, v] = (N[c, v] + k0 B[c, v]) / (N[c, .] + k0),    B[c, v] = a [c = v] + (1 - a) N[., v] / N,

where a is the share of volunteers whose class it guesses. The list makes a choice better than this in most graphs:
the rows of the table are then a little too unsure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from curator.learning.naive_bayes import folds_of
from curator.linear.array_digest import array_digest
from curator.reports.reports import Reports
from curator.votes.affinity import kept_share
from curator.votes.own_model import OwnModel, own_model
from devices.array_types import BoolArray, DoubleArray, IntArray
from devices.facts import PublicFacts, PublicKnowledge

PRIOR_COUNT = 30.0  # k0, volunteers of each class
_KEPT: dict[str, OwnModel] = {}


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
    """

    facts: PublicFacts
    people: IntArray = field(repr=False)
    labels: IntArray = field(repr=False)
    own: OwnModel | None = field(repr=False)
    votes: IntArray | None = field(default=None, repr=False)
    kept: float = 0.0

    @cached_property
    def shares(self) -> DoubleArray:
        """float64 (classes,): pi."""
        counts = np.bincount(self.labels, minlength=self.facts.classes) + 1.0
        return np.asarray(counts / counts.sum())

    @cached_property
    def chosen(self) -> DoubleArray:
        """float64 (classes, classes): T."""
        classes = self.facts.classes
        said = np.zeros((len(self.people), classes)) if self.own is None else self.own.log_probability
        counts = np.zeros((classes, classes))
        np.add.at(counts, (self.labels, said.argmax(axis=1)), 1)
        right = float(np.trace(counts) / max(1.0, counts.sum()))
        overall = (counts.sum(axis=0) + 1) / (counts.sum() + classes)
        base = right * np.eye(classes) + (1 - right) * overall
        return np.asarray((counts + PRIOR_COUNT * base) / (counts.sum(axis=1, keepdims=True) + PRIOR_COUNT))

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


def volunteered(reports: Reports, public: PublicKnowledge) -> Volunteered:
    """Return what the curator knows from the volunteers' records and the answers so far.

    Raises:
        ValueError: where no volunteer has answered.
    """
    facts, labels = reports.facts, reports.needed("labels")
    people = public.split.labelled
    people = people[labels[people] >= 0]
    if not len(people):
        raise ValueError("no volunteer has given a label")
    own = None if reports.features is None else _kept_model(reports.features[people], labels[people], facts)
    if reports.votes is None:
        return Volunteered(facts, people, labels[people], own)
    kept = kept_share(reports.source("votes").loss().vector, facts.classes)
    return Volunteered(facts, people, labels[people], own, reports.votes, kept)


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


def _kept_model(features: Any, labels: IntArray, facts: PublicFacts) -> OwnModel:
    """Return the fit; the last two are kept, because every batch asks for the same one."""
    key = array_digest(features, labels, start=repr(facts))
    if key not in _KEPT:
        if len(_KEPT) > 1:
            del _KEPT[next(iter(_KEPT))]
        _KEPT[key] = own_model(features, labels, facts)
    return _KEPT[key]
