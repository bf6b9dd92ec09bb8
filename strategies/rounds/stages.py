"""From one stage of a plan to the next: what the curator does between two rounds.

The plan, its mechanisms and its loss are fixed from the first question on; a later stage
only fills in a public grouping, which the method makes of the reports so far
(:meth:`curator.methods.base.Method.regroup`). A grouping is kept before it is sent: an
interrupted collection goes on with the same one, for a device answers a stage once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from curator.methods import Method, Question, find
from curator.reports.reports import AnswersByDevice, Reports
from devices.atomic_files import write_atomically
from devices.facts import PublicFacts

Grouping = tuple[int, ...]


@dataclass(frozen=True)
class Stages:
    """Makes the questions of a later stage.

    Args:
        method: Whose plan it is.
        facts: Sizes, ranges and domains.
        kept: Folder that keeps groupings.
    """

    method: Method
    facts: PublicFacts
    kept: Path

    def advance(self, questions: Sequence[Question], answers: AnswersByDevice, stage: int) -> tuple[Question, ...]:
        """Return the questions of ``stage``, to the same people.

        Args:
            questions: Those of the stage before.
            answers: What came so far, of the people who answered every stage.
            stage: Number of the stage, from 1.

        Raises:
            ValueError: where the method's grouping does not group everybody.
        """
        # The collection's id is part of the query and has no characters that a name cannot have.
        path = self.kept / f"grouping-{questions[0].query.collection}-{stage}.json"
        if path.is_file():
            return at_stage(questions, stage, _read(path))
        reports = Reports.from_bytes(self.facts, questions, answers)
        made = self.method.regroup(reports, stage=stage)
        if made is not None and (made.shape != (self.facts.n,) or made.min(initial=0) < 0):
            raise ValueError(f"{self.method.name}: a grouping names one group of every person")
        grouping = None if made is None else tuple(np.asarray(made, np.int64).tolist())
        self.kept.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(grouping))
        return at_stage(questions, stage, grouping)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, for a ServerApp in another process."""
        parameters = asdict(self.method)  # type: ignore[call-overload]
        return {"method": self.method.name, "parameters": parameters, "facts": self.facts.to_dict(),
                "kept": str(self.kept.resolve())}  # fmt: skip

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Stages:
        """Read :meth:`to_dict` back."""
        method = find(values["method"]).from_settings(values["parameters"])
        return cls(method, PublicFacts.from_dict(values["facts"]), Path(values["kept"]))


def at_stage(questions: Sequence[Question], stage: int, grouping: Grouping | None) -> tuple[Question, ...]:
    """Return the same questions at another stage."""
    return tuple(replace(question, query=question.query.at_stage(stage, grouping)) for question in questions)


def stages_of(questions: Sequence[Question]) -> int:
    """How many stages the longest plan has."""
    return max(len(question.query.plan) for question in questions)


def _read(path: Path) -> Grouping | None:
    found = json.loads(path.read_text())
    return None if found is None else tuple(found)
