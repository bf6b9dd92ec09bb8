"""Questions and knowledge where volunteers give label and features in clear, and everybody else gives one answer.

Volunteers answer first. A model that is fitted to them goes with the table of the votes. Other people who know their
label may be asked for it, with the loss of a vote and in its place. Some of them are *witnesses*: their answer says
whether the vote that they would give is their label. Everybody else votes, batch by batch.

Nothing is known of an ordinary person before the answer r, and everybody chooses among all classes. So

    P(c | r) = pi_c M[c, r] / sum over the classes of the same,    M = T G,

with the volunteers' class shares pi (one more person in each class), and G of the response: GRR keeps the choice with
probability k, and else draws a class. T[c, v] is how often a person of class c chooses v. For a reported label it is
the identity. For a vote it is

    T[c, v] = a [c = v] + (1 - a) q_v.

With witnesses, a is how often votes are right, less one standard error, beyond the chance of two independent draws from
pi and from q, and q are the shares of the votes themselves. Without any, a is how far what the model of own features
says of volunteers, when it has not seen their label, agrees with the labels beyond chance (Cohen's kappa, at least 0),
and q are the shares of what it says. The list makes a choice better than this in most graphs: the rows of the table are
then a little too unsure. Answers about the list alone have the homophily in the place of a, because nothing that is
known tells it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldpsim.curator.learning.ridge import folds_of
from ldpsim.curator.linear.array_digest import LastAnswers, array_digest
from ldpsim.curator.reports.labels import LabelEvidence
from ldpsim.curator.reports.question import Question
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.votes.own_model import OwnModel, model_for_accounts, own_model
from ldpsim.devices.array_types import BoolArray, DoubleArray, IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRR, ClearFeatures, ClearLabel, NeighbourhoodVote, Reporting
from ldpsim.devices.mechanisms.class_table import FeatureModel
from ldpsim.devices.query import Ask, Query

MOST_WITNESSES, WITNESSES = 100, 1 / 8  # at most, and as a share of the people who know their label
EVIDENCE = ("both", "features", "list")  # what a vote is about
_MODELS = LastAnswers[OwnModel]()


@dataclass(frozen=True)
class VolunteerQuestions:
    """Maker of the questions of a collection with volunteers.

    Args:
        collection: Its id.
        epsilon: Loss of a vote.
        homophily: h.
        evidence: One of :data:`EVIDENCE`.
        reporting: The ends of a pair that count it.
        batches: Number of batches of votes.
        labels: Whether ordinary people who know their label report it in place of a vote.
    """

    collection: str
    epsilon: float
    homophily: float
    evidence: str
    reporting: Reporting
    batches: int
    labels: bool = False

    def for_accounts(self, facts: PublicFacts, split: Split) -> tuple[Question, ...]:
        """Return questions with the losses of those that are asked, which attain them."""
        classes = np.eye(facts.classes)  # of volunteers, of people who answered, and a row of which nothing is known
        kinds = np.concatenate([0 * classes[:1], classes, classes + 1])
        rows = kinds[np.arange(facts.n) % len(kinds)]
        voters = np.setdiff1d(np.arange(facts.n), self._without_vote(split))
        first = self._first(facts, split)
        model = model_for_accounts(facts.d, facts.classes)
        return *first, *self._votes(rows, facts, voters, self._witnesses(facts, split), model, part=len(first))

    def next(self, public: PublicKnowledge, earlier: Reports | None) -> tuple[Question, ...]:
        """Return the questions of the next batch; none after the last one."""
        facts, split = public.facts, public.split
        if earlier is None:
            return self._first(facts, split)
        recipients = earlier.recipients.get("adjacency", np.zeros(facts.n, np.bool_))
        people = next_voters(facts.n, self._without_vote(split), recipients, batches=self.batches)
        if not len(people):
            return ()
        knowledge = volunteer_knowledge(earlier, public, self.agreement)
        witnesses = self._witnesses(facts, split)
        witnesses = witnesses[~recipients[witnesses]]  # they are asked with the first batch
        return self._votes(knowledge.table, facts, people, witnesses, knowledge.own.model, levels=knowledge.own.levels)

    @property
    def agreement(self) -> float | None:
        """Share of answers about the list alone that name the class, beyond chance; None where the model tells."""
        return self.homophily if self.evidence == "list" else None

    def _witnesses(self, facts: PublicFacts, split: Split) -> IntArray:
        """int64, sorted: dealt without a look at anything private; nobody without labels that are asked, or voters."""
        if not self.labels or len(self._without_vote(split)) == facts.n:
            return split.ordinary[:0]
        number = min(MOST_WITNESSES, int(WITNESSES * len(split.ordinary)))
        return np.sort(np.random.Generator(np.random.PCG64(0)).permutation(split.ordinary)[:number])

    def _without_vote(self, split: Split) -> IntArray:
        return np.concatenate([split.labelled, split.ordinary]) if self.labels else split.labelled

    def _first(self, facts: PublicFacts, split: Split) -> tuple[Question, ...]:
        """Return the questions before any vote: to volunteers, and for the labels of ordinary people."""
        features = ClearFeatures(facts.d, facts.feature_low, facts.feature_high)
        asks = (Ask("features", (features,)), Ask("label", (ClearLabel(facts.classes),)))
        in_clear = Question(Query(self.collection, (asks,)), split.labelled)
        labelled = np.setdiff1d(split.ordinary, self._witnesses(facts, split))
        if not self.labels or not len(labelled):
            return (in_clear,)
        truth = GRR.from_epsilon(self.epsilon, categories=facts.classes)
        return in_clear, Question(Query(self.collection, ((Ask("label", (truth,)),),)), labelled, part=1)

    def _votes(
        self, rows: DoubleArray, facts: PublicFacts, people: IntArray, witnesses: IntArray, model: FeatureModel, *,
        levels: int = 1, part: int = 0,
    ) -> tuple[Question, ...]:  # fmt: skip
        """Return the question for a vote, and the one to witnesses about the same vote."""
        fields: dict[str, Any] = {"reporting": self.reporting}
        fields["homophily"] = 0.0 if self.evidence == "features" else self.homophily
        if self.evidence == "list":
            model = FeatureModel(0 * model.weights, 0 * model.means)
        if levels > 1:
            fields |= {"low": facts.feature_low, "high": facts.feature_high}
        made: list[Question] = []
        for devices, agreement in ((people, False), (witnesses, True)):
            if len(devices):
                vote = NeighbourhoodVote.from_probabilities(
                    rows, self.epsilon, agreement=agreement, model=model, levels=levels, **fields
                )
                query = Query(self.collection, ((Ask("adjacency", (vote,)),),))
                made.append(Question(query, devices, part=part + len(made)))
        return tuple(made)


@dataclass(frozen=True, eq=False)
class ClassReports:
    """Reports of a class through GRR.

    Args:
        people: int64 (k,): who reported.
        reports: int64 (k,): the classes.
        share: k of the response.
    """

    people: IntArray = field(repr=False)
    reports: IntArray = field(repr=False)
    share: float

    def shares(self, classes: int) -> DoubleArray:
        """float64 (classes,): of the classes before the response, one more person in each."""
        seen = np.bincount(self.reports, minlength=classes) / max(1, len(self.reports))
        before = np.maximum((seen - (1 - self.share) / classes) / self.share, 0.0) * len(self.reports) + 1
        return np.asarray(before / before.sum())

    def posterior(self, shares: DoubleArray, chosen: DoubleArray) -> DoubleArray:
        """float64 (k, classes): P(class | report) of people who choose by ``chosen``, T."""
        classes = len(chosen)
        law = chosen @ (self.share * np.eye(classes) + (1 - self.share) / classes)
        odds = shares * law[:, self.reports].T
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class VolunteerKnowledge:
    """Knowledge from the volunteers' records and the answers so far.

    Args:
        own: The model of own features.
        probability: float64 (n, classes): of everybody's class. A volunteer's row is by a fit without the own label.
            People of whom nothing is known have the class shares.
        table: float64 (n, classes): what is published; zeros for people of whom nothing is known.
    """

    own: OwnModel
    probability: DoubleArray = field(repr=False)
    table: DoubleArray = field(repr=False)

    def posterior(self, nodes: IntArray) -> tuple[DoubleArray, Mapping[str, float]]:
        """Return ln P, float64 (n, classes), and no exponents: nothing is fitted on the labels of ``nodes``."""
        return np.log(np.maximum(self.probability, 1e-300)), {}


def volunteer_knowledge(
    reports: Reports, public: PublicKnowledge, agreement: float | None = None
) -> VolunteerKnowledge:
    """Return what the curator knows from the volunteers' records and the answers so far.

    Args:
        reports: The reports so far.
        public: Public knowledge.
        agreement: a; None: that of the witnesses, or of the model of own features.

    Raises:
        ValueError: where no volunteer has answered.
    """
    facts, labels = reports.facts, reports.needed("labels")
    people = public.split.labelled
    people = people[labels[people] >= 0]
    if not len(people):
        raise ValueError("no volunteer has given a label")
    records = reports.needed("features")[people], labels[people]
    own = _MODELS.of(
        array_digest(*records, start=repr(facts)),
        lambda: own_model(records[0], LabelEvidence(records[1], facts.classes), facts),
    )
    one_hot = np.eye(facts.classes)
    shares = (np.bincount(labels[people], minlength=facts.classes) + 1) / (len(people) + facts.classes)
    probability, table = np.tile(shares, (facts.n, 1)), np.zeros((facts.n, facts.classes))
    if (label_reports := _class_reports(reports, "labels")) is not None:
        probability[label_reports.people] = table[label_reports.people] = label_reports.posterior(shares, one_hot)
    if (votes := _class_reports(reports, "votes")) is not None:
        right = right_votes(reports)
        if right is None:
            chosen = law_of_the_model(own.log_probability.argmax(axis=1), labels[people], facts.classes, agreement)
        else:
            chosen = law_of_witnesses(right, votes.shares(facts.classes), shares)
        probability[votes.people] = table[votes.people] = votes.posterior(shares, chosen)
    probability[people], table[people] = np.exp(own.log_probability), one_hot[labels[people]]
    return VolunteerKnowledge(own, probability, table)


def law_of_witnesses(right: float, votes: DoubleArray, shares: DoubleArray) -> DoubleArray:
    """float64 (classes, classes): T of votes that are right so often, from the shares of votes and of classes."""
    return _law(beyond_chance(right, float(shares @ votes)), votes)


def law_of_the_model(guesses: IntArray, labels: IntArray, classes: int, agreement: float | None = None) -> DoubleArray:
    """float64 (classes, classes): T of votes that are right as often as what a model says of people with these labels.

    >>> law_of_the_model(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0]), classes=2)[0].tolist()  # a is .5
    [0.75, 0.25]
    """
    of_guesses, of_labels = (np.bincount(each, minlength=classes) / len(each) for each in (guesses, labels))
    share = beyond_chance(float(np.mean(guesses == labels)), float(of_guesses @ of_labels))
    votes = (len(guesses) * of_guesses + 1) / (len(guesses) + classes)
    return _law(share if agreement is None else agreement, votes)


def beyond_chance(right: float, by_chance: float) -> float:
    """Return the share that is right beyond chance, 0 .. 1; 0 where nothing could be wrong."""
    return min(1.0, max(0.0, (right - by_chance) / (1 - by_chance))) if by_chance < 1 else 0.0


def kept_share(epsilon: float, values: int) -> float:
    """Return k of GRR over this many values: it keeps the choice with this probability, and else draws a value.

    >>> round(kept_share(2.0, 7), 2)
    0.48
    """
    odds = math.expm1(min(epsilon, 700.0))
    return odds / (odds + values)


def right_votes(reports: Reports, errors: float = 1.0) -> float | None:
    """Return how often a vote is right, as the witnesses say, less ``errors`` standard errors; None without witnesses.

    The noise is taken out. The standard error keeps the luck of few witnesses from counting as agreement.
    """
    parts = [part for part in reports.of_field("votes") if _of_witnesses(part, "votes")]
    votes = np.concatenate([part.needed("votes")[part.needed("votes") >= 0] for part in parts] or [np.zeros(0)])
    if not len(votes):
        return None
    share = kept_share(parts[0].source("votes").loss().vector, 2)
    mean = (votes.sum() + 1) / (len(votes) + 2)
    return float((mean - errors * np.sqrt(mean * (1 - mean) / len(votes)) - (1 - share) / 2) / share)


def next_voters(n: int, others: IntArray, recipients: BoolArray, *, batches: int) -> IntArray:
    """int64, sorted: the people of the next batch of votes; nobody where all were asked.

    They are dealt to the batches without a look at anything private.

    Args:
        n: Number of people.
        others: int64: people who do not vote.
        recipients: bool (n,): people of earlier batches.
        batches: Number of batches.
    """
    voters = np.setdiff1d(np.arange(n), others)
    dealt = folds_of(len(voters), batches, seed=0)
    waiting = ~recipients[voters]
    return voters[waiting & (dealt == dealt[waiting].min(initial=batches))]


def _law(agreed: float, votes: DoubleArray) -> DoubleArray:
    return np.asarray(agreed * np.eye(len(votes)) + (1 - agreed) * votes)


def _class_reports(reports: Reports, name: str) -> ClassReports | None:
    """Return the classes that people reported under noise in this field; None where there are none.

    All parts ask with one loss.
    """
    parts = [part for part in reports.of_field(name)
             if not part.source(name).in_clear and not _of_witnesses(part, name)]  # fmt: skip
    if not parts:
        return None
    who = np.logical_or.reduce([part.needed(name) >= 0 for part in parts])
    share = kept_share(parts[0].source(name).loss().vector, reports.facts.classes)
    return ClassReports(np.flatnonzero(who), reports.needed(name)[who], share)


def _of_witnesses(part: Reports, name: str) -> bool:
    return bool(getattr(part.source(name), "agreement", False))
