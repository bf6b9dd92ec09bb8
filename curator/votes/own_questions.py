"""Questions where some people volunteer: theirs in clear, then one vote of everybody else, batch by batch.

Other people who know their label may be asked for it, with the loss of a vote and in its place. A label says more of a
person than a vote does, and the table of the votes that follow has it. Some of them are *witnesses*: their answer says
whether the vote that they would give is their label. From these the curator learns how often votes are right.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpsim.curator.reports.question import Question
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.votes.own_model import model_for_accounts
from ldpsim.curator.votes.volunteered import next_voters, volunteered
from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRR, ClearFeatures, ClearLabel, OwnFeaturesVote, Reporting
from ldpsim.devices.mechanisms.word_model import WordModel
from ldpsim.devices.query import Ask, Query

MOST_WITNESSES, WITNESSES = 100, 1 / 8  # at most, and as a share of the people who know their label
EVIDENCE = ("both", "features", "list")  # what a vote is about


def agreement_of(evidence: str, homophily: float) -> float | None:
    """Return how often an answer about the list alone names the class, beyond chance; None where the model tells."""
    return homophily if evidence == "list" else None


@dataclass(frozen=True)
class OwnQuestions:
    """Maker of the questions of a collection.

    Args:
        collection: Its id.
        epsilon: Loss of a vote.
        homophily: h.
        evidence: One of :data:`EVIDENCE`.
        form: Form of the published table; ``codes`` has the same rows as ``full`` (2 classes + 1 different ones).
        reporting: The ends of a pair that count it.
        batches: Number of batches of votes.
        labels: Whether ordinary people who know their label report it in place of a vote.
    """

    collection: str
    epsilon: float
    homophily: float
    evidence: str
    form: str
    reporting: Reporting
    batches: int
    labels: bool = False

    def for_accounts(self, facts: PublicFacts, split: Split) -> tuple[Question, ...]:
        """Return questions with the losses of those that are asked, which attain them."""
        classes = np.eye(facts.classes)  # of volunteers, of people who answered, and a row of which nothing is known
        kinds = np.concatenate([classes, classes + 1, 0 * classes[:1]])
        rows = kinds[np.arange(facts.n) % len(kinds)]
        voters = np.setdiff1d(np.arange(facts.n), self._without_vote(split))
        model = model_for_accounts(facts.d, facts.classes)
        first = self._first(facts, split)
        votes = self._votes(rows, facts, voters, model, witnesses=self._witnesses(facts, split))
        return (*first, *(replace(each, part=len(first) + each.part) for each in votes))

    def next(self, public: PublicKnowledge, earlier: Reports | None) -> tuple[Question, ...]:
        """Return the questions of the next batch; none after the last one."""
        facts, split = public.facts, public.split
        if earlier is None:
            return self._first(facts, split)
        asked = earlier.asked.get("adjacency", np.zeros(facts.n, np.bool_))
        people = next_voters(facts.n, self._without_vote(split), asked, batches=self.batches)
        if not len(people):
            return ()
        known = volunteered(earlier, public, agreement_of(self.evidence, self.homophily))
        assert known.own is not None
        model = known.own.model.silent() if self.evidence == "list" else known.own.model
        witnesses = np.setdiff1d(
            self._witnesses(facts, split), np.flatnonzero(asked)
        )  # they are asked with the first batch
        return self._votes(known.table, facts, people, model, levels=known.own.levels, witnesses=witnesses)

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
        telling = np.setdiff1d(split.ordinary, self._witnesses(facts, split))
        if not self.labels or not len(telling):
            return (in_clear,)
        truth = GRR.from_epsilon(self.epsilon, categories=facts.classes)
        return in_clear, Question(Query(self.collection, ((Ask("label", (truth,)),),)), telling, part=1)

    def _votes(
        self, rows: DoubleArray, facts: PublicFacts, people: IntArray, model: WordModel, *, levels: int = 1,
        witnesses: IntArray,
    ) -> tuple[Question, ...]:  # fmt: skip
        """Return the question for a vote, and the one to witnesses about the same vote."""
        scale: dict[str, Any] = {"form": self.form, "reporting": self.reporting}
        if levels > 1:
            scale |= {"levels": levels, "low": facts.feature_low, "high": facts.feature_high}
        homophily = 0.0 if self.evidence == "features" else self.homophily
        found: list[Question] = []
        for asked, agreement in ((people, False), (witnesses, True)):
            if not len(asked):
                continue
            vote = OwnFeaturesVote.from_probabilities(
                rows, self.epsilon, model, homophily=homophily, agreement=agreement, **scale
            )
            query = Query(self.collection, ((Ask("adjacency", (vote,)),),))
            found.append(Question(query, asked, part=len(found)))
        return tuple(found)
