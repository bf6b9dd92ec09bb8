"""Questions where volunteers give label and features in clear, and everybody else gives one report.

Volunteers report first. A model that is fitted to them goes with the table of the votes. Other people who know their
label may be asked for it, with the loss of a vote and in its place. Then a *calibration group* of some of these people
tells how much friends are alike (:mod:`ldpsim.curator.votes.calibration`). Everybody else votes, batch by batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpsim.curator.features.linear_feature_model import model_for_accounts
from ldpsim.curator.learning.folds import folds_of
from ldpsim.curator.reports.question import Question
from ldpsim.curator.reports.rounds import RoundSteps
from ldpsim.curator.votes.calibration import CALIBRATION_HOMOPHILY, kept_share
from ldpsim.curator.votes.volunteer_knowledge import volunteer_knowledge
from ldpsim.devices.array_types import BoolArray, DoubleArray, IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRR, ClearFeatures, ClearLabel, NeighbourhoodVote, Reporting
from ldpsim.devices.mechanisms.feature_model import UNIT, FeatureModel
from ldpsim.devices.query import Ask, Query

# The calibration group: so many people that the standard error of their share is .05, an eighth of those who know their
# label at most. They report no label, and each label less costs accuracy where friends are alike.
CALIBRATION_ERROR, MOST_CALIBRATION = 0.05, 1 / 8
EVIDENCE = ("both", "features", "list")  # what a vote is about


@dataclass(frozen=True)
class VolunteerQuestions:
    """Maker of the questions of a collection with volunteers.

    Args:
        collection: Its id.
        epsilon: Loss of a vote.
        homophily: h where no calibration group tells it.
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
        group = self._calibration_group(facts, split)
        calibration = self._calibration(rows, group, part=len(first))
        part = len(first) + len(calibration)
        return *first, *calibration, *self._votes(rows, facts, voters, model, homophily=self.homophily, part=part)

    def rounds(self, public: PublicKnowledge) -> RoundSteps:
        """Yield the questions of one round after the other, and take the reports of all rounds so far."""
        facts, split = public.facts, public.split
        reports = yield self._first(facts, split)
        if len(group := self._calibration_group(facts, split)):
            knowledge = volunteer_knowledge(reports, public, self.evidence, self.homophily)
            reports = yield self._calibration(knowledge.table, group, shares=knowledge.shares)
        recipients = np.zeros(facts.n, np.bool_)
        while len(people := next_voters(facts.n, self._without_vote(split), recipients, batches=self.batches)):
            knowledge = volunteer_knowledge(reports, public, self.evidence, self.homophily)
            fit = knowledge.fit
            reports = yield self._votes(knowledge.table, facts, people, fit.model, levels=fit.levels,
                                        homophily=knowledge.homophily, shares=knowledge.shares)  # fmt: skip
            recipients = reports.recipients["adjacency"]

    def _calibration_group(self, facts: PublicFacts, split: Split) -> IntArray:
        """int64, sorted: dealt without a look at anything private; nobody without labels that are asked, or voters."""
        number = self._size_of_calibration_group(facts, split)
        return np.sort(np.random.Generator(np.random.PCG64(0)).permutation(split.ordinary)[:number])

    def _size_of_calibration_group(self, facts: PublicFacts, split: Split) -> int:
        ordinary = len(split.ordinary)
        if not self.labels or len(split.train) + len(split.val) + ordinary == facts.n:
            return 0
        most, kept = int(MOST_CALIBRATION * ordinary), kept_share(self.epsilon, 2)
        if CALIBRATION_ERROR * kept * math.sqrt(most) <= 0.5:  # at a tiny epsilon the square below has no number
            return most
        return min(math.ceil((0.5 / (CALIBRATION_ERROR * kept)) ** 2), most)

    def list_reporters(self, facts: PublicFacts, split: Split) -> int:
        """Number of people who report about their list: the calibration group, and everybody who votes."""
        without_vote = len(split.train) + len(split.val) + (len(split.ordinary) if self.labels else 0)
        return facts.n - without_vote + self._size_of_calibration_group(facts, split)

    def _without_vote(self, split: Split) -> IntArray:
        return np.concatenate([split.labelled, split.ordinary]) if self.labels else split.labelled

    def _first(self, facts: PublicFacts, split: Split) -> tuple[Question, ...]:
        """Return the questions before any vote: to volunteers, and for the labels of ordinary people."""
        features = ClearFeatures(facts.d, facts.feature_low, facts.feature_high)
        asks = (Ask("features", (features,)), Ask("label", (ClearLabel(facts.classes),)))
        in_clear = Question(Query(self.collection, (asks,)), split.labelled)
        labelled = np.setdiff1d(split.ordinary, self._calibration_group(facts, split))
        if not self.labels or not len(labelled):
            return (in_clear,)
        truth = GRR.from_epsilon(self.epsilon, categories=facts.classes)
        return in_clear, Question(Query(self.collection, ((Ask("label", (truth,)),),)), labelled, part=1)

    def _calibration(
        self, rows: DoubleArray, people: IntArray, *, shares: DoubleArray | None = None, part: int = 0
    ) -> tuple[Question, ...]:
        """Return the question to the calibration group; none without one."""
        if not len(people):
            return ()
        return (self._about(rows, people, part, homophily=CALIBRATION_HOMOPHILY, shares=shares, calibration=True),)

    def _votes(
        self, rows: DoubleArray, facts: PublicFacts, people: IntArray, model: FeatureModel, *, homophily: float,
        levels: int = 1, shares: DoubleArray | None = None, part: int = 0,
    ) -> tuple[Question, ...]:  # fmt: skip
        """Return the question for a vote; none without voters."""
        if not len(people):
            return ()
        if self.evidence == "list":
            model = FeatureModel(0 * model.weights, np.rint(UNIT * np.log(shares)).astype(np.int64)
                                 if shares is not None else 0 * model.means)  # fmt: skip
        numbers: dict[str, Any] = {"low": facts.feature_low, "high": facts.feature_high} if levels > 1 else {}
        homophily = 0.0 if self.evidence == "features" else homophily
        numbers |= {"homophily": homophily, "shares": shares, "model": model, "levels": levels}
        return (self._about(rows, people, part, **numbers),)

    def _about(self, rows: DoubleArray, people: IntArray, part: int, **parameters: Any) -> Question:
        vote = NeighbourhoodVote.from_probabilities(rows, self.epsilon, reporting=self.reporting, **parameters)
        return Question(Query(self.collection, ((Ask("adjacency", (vote,)),),)), people, part=part)


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
