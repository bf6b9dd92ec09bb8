"""Step from one stage of a query to the next, made by the curator between two rounds.

The stages, their mechanisms and their loss are fixed in the first question. A later stage
only adds a public grouping. The method makes it from the reports so far
(:meth:`ldpsim.curator.methods.base.LocalMethod.questions`). A grouping is saved before it is sent: a device
answers a stage once, so an interrupted collection must continue with the same grouping.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ldpsim.curator.methods import Method, Question
from ldpsim.curator.reports.decoding import AnswersByDevice
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.atomic_files import made_once
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.base import Grouping


@dataclass(frozen=True)
class Stages:
    """Maker of the questions of later stages.

    Args:
        method: The method that asks.
        facts: Sizes, ranges and domains.
        kept: Folder of the saved groupings.
    """

    method: Method
    facts: PublicFacts
    kept: Path

    def advance(self, questions: Sequence[Question], answers: AnswersByDevice, stage: int) -> tuple[Question, ...]:
        """Return the questions of ``stage``, to the same people.

        Args:
            questions: The questions of the stage before.
            answers: All answers so far of the people who answered every stage.
            stage: Number of the stage, from 1.

        Raises:
            ValueError: if the method's grouping leaves somebody out.
        """
        # The id of a collection is a valid file name: the query checks its characters.
        path = self.kept / f"grouping-{questions[0].query.collection}-{stage}.json"

        def make() -> str:
            regroup = getattr(self.method, "regroup", None)
            made = regroup and regroup(Reports.from_bytes(self.facts, questions, answers), stage=stage)
            if made is not None and (made.shape != (self.facts.n,) or made.min(initial=0) < 0):
                raise ValueError(f"{self.method.spec.name}: a grouping needs one group for every person")
            return json.dumps(None if made is None else np.asarray(made, np.int64).tolist())

        self.kept.mkdir(parents=True, exist_ok=True)
        grouping = json.loads(made_once(path, make))
        return at_stage(questions, stage, None if grouping is None else tuple(grouping))


def at_stage(questions: Sequence[Question], stage: int, grouping: Grouping) -> tuple[Question, ...]:
    """Return the same questions at another stage."""
    return tuple(replace(question, query=question.query.at_stage(stage, grouping)) for question in questions)


def stages_of(questions: Sequence[Question]) -> int:
    """Return the largest number of stages of a question."""
    return max(len(question.query.plan) for question in questions)
