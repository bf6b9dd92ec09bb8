"""Questions and reports of a collection of several rounds, whose later questions follow from the earlier reports.

A round has either of two kinds of questions:

- a later *stage* of a query that was asked, with a public group for every person. A device that missed a stage is not
  asked again;
- questions to other people (``MethodSpec.in_batches``). Each is a *part* of its own, as they may ask differently about
  one attribute.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

import numpy as np

from ldpsim.curator.reports.decoding import AnswersByDevice, answers_to
from ldpsim.curator.reports.question import Question, collection_id
from ldpsim.curator.reports.reports import Reports, joined_reports
from ldpsim.devices.array_types import BoolArray
from ldpsim.devices.facts import PublicFacts

# Yields the questions of one round after the other, and is sent the decoded reports of all rounds so far.
RoundSteps = Generator[tuple[Question, ...], Reports, None]


class CollectionRounds:
    """The rounds so far.

    Args:
        facts: Sizes, ranges and domains.
        in_batches: Whether every question is a part of its own.

    Attributes:
        questions: All questions, at their latest stage.
    """

    def __init__(self, facts: PublicFacts, *, in_batches: bool) -> None:
        self.questions: tuple[Question, ...] = ()
        self._facts, self._in_batches = facts, in_batches
        self._answers: dict[int, AnswersByDevice] = {}  # of each part; those who answered its latest stage
        self._reports: dict[int, Reports] = {}

    def add(self, questions: Sequence[Question]) -> tuple[Question, ...]:
        """Take the questions of the next round; return them as they are sent, to those who answered the stages before.

        Raises:
            ValueError: for a question that asks somebody again, or nobody, and for a stage that does not follow.
        """
        first, sent = not self.questions, []
        for question in questions:
            if question.query.stage:
                sent.append(self._later_stage(question))
                continue
            for attribute, people in asked_people(self._facts.n, [question]).items():
                if not people.any() and not first:
                    raise ValueError(f"a round asks nobody about {attribute}")
                if np.any(people & asked_people(self._facts.n, self.questions).get(attribute, False)):
                    raise ValueError(f"a round asks somebody again about {attribute}")
            if self.questions and question.query.collection != collection_id(self.questions):
                raise ValueError("all rounds belong to one collection")
            sent.append(replace(question, part=len(self.questions) if self._in_batches else 0))
            self.questions += (sent[-1],)
        return tuple(sent)

    def _later_stage(self, question: Question) -> Question:
        query, n = question.query, self._facts.n
        if query.grouping is not None and len(query.grouping) != n:
            raise ValueError("a grouping needs one group for every person")
        for place, before in enumerate(self.questions):
            if before.query.at_stage(query.stage, query.grouping) != query or before.query.stage + 1 != query.stage:
                continue
            if np.array_equal(before.people(n), question.people(n)):
                latest = replace(before, query=query)
                self.questions = (*self.questions[:place], latest, *self.questions[place + 1 :])
                answered = np.array(sorted(self._answers.get(before.part, ())), np.int64)
                return replace(latest, devices=np.intersect1d(latest.people(n), answered))
        raise ValueError(f"stage {query.stage} of a question does not follow the stage before, to the same people")

    def take(self, sent: Sequence[Question], answers: AnswersByDevice) -> list[int]:
        """Take the answers of a round; return the devices whose bytes are malformed, which count as silent."""
        malformed: set[int] = set()
        for part in dict.fromkeys(question.part for question in sent):
            new = answers_to([question for question in sent if question.part == part], answers)
            before = self._answers.get(part, {})
            merged = {device: before.get(device, {}) | given for device, given in new.items()}
            questions = [question for question in self.questions if question.part == part]
            reports, wrong = Reports.readable(self._facts, questions, merged)
            if wrong:
                malformed |= wrong.keys()
                merged = {device: given for device, given in merged.items() if device not in wrong}
                reports = Reports.from_bytes(self._facts, questions, merged)
            self._answers[part], self._reports[part] = merged, reports
        return sorted(malformed)

    @property
    def reports(self) -> Reports:
        """The decoded reports of all rounds."""
        reports = list(self._reports.values())
        return joined_reports(reports) if len(reports) > 1 else reports[0]


def following(steps: RoundSteps, reports: Reports) -> tuple[Question, ...]:
    """Return the questions that follow from the reports of all rounds so far; none after the last round."""
    try:
        return steps.send(reports)
    except StopIteration:
        return ()


def asked_people(n: int, questions: Sequence[Question]) -> dict[str, BoolArray]:
    """Return bool (n,) for each attribute: the people who are asked about it."""
    people: dict[str, BoolArray] = {}
    for question in questions:
        for attribute in question.query.attributes:
            people.setdefault(attribute, np.zeros(n, np.bool_))[question.people(n)] = True
    return people
