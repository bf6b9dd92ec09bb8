"""Questions to people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.mechanisms import Mechanism
from ldpsim.devices.mechanisms import Reporting as Reporting
from ldpsim.devices.mechanisms.mechanism import Grouping
from ldpsim.devices.query import Query


@dataclass(frozen=True, eq=False)
class Question:
    """A query and the people who are asked.

    Args:
        query: The query, the same bytes for everybody in ``devices``.
        devices: Sorted int64 ids, or None for everybody.
        part: Number of the part of a collection in batches, from 0. Questions of different parts may ask
            differently about one attribute, and go to different people.
    """

    query: Query
    devices: IntArray | None = None
    part: int = 0

    def people(self, n: int) -> IntArray:
        """int64, sorted: those of ``n`` people who are asked."""
        return np.arange(n) if self.devices is None else np.asarray(self.devices, np.int64)

    def in_collection(self, collection: str) -> Question:
        """Return the question as one of another collection."""
        return replace(self, query=replace(self.query, collection=collection))

    def with_mechanisms(self, change: Callable[[Mechanism], Mechanism]) -> Question:
        """Return the question with every mechanism changed in this way."""
        plan = tuple(tuple(replace(ask, mechanisms=tuple(map(change, ask.mechanisms))) for ask in stage)
                     for stage in self.query.plan)  # fmt: skip
        return self if plan == self.query.plan else replace(self, query=replace(self.query, plan=plan))


def at_stage(questions: Sequence[Question], stage: int, grouping: Grouping = None) -> tuple[Question, ...]:
    """Return the same questions at another stage, with the public group of every person there."""
    return tuple(replace(question, query=question.query.at_stage(stage, grouping)) for question in questions)


def collection_id(questions: Sequence[Question]) -> str:
    """Return the id of the collection that these questions belong to."""
    return questions[0].query.collection


def stages_of(questions: Sequence[Question]) -> int:
    """Return the largest number of stages of a question."""
    return max(len(question.query.plan) for question in questions)


def number_of_recipients(questions: Sequence[Question], n: int) -> int:
    """Return how many of ``n`` people are asked; who is asked by two questions counts twice."""
    return sum(n if question.devices is None else len(question.devices) for question in questions)


def keys_of(questions: Sequence[Question]) -> tuple[tuple[bytes, bytes | None], ...]:
    """Return what identifies the questions of a collection and their people; the collection's id plays no part."""
    return tuple(
        (replace(question.query, collection="any").to_bytes(), None if question.devices is None else
         question.devices.astype("<i8").tobytes())
        for question in questions
    )  # fmt: skip


def volunteers_of(questions: Sequence[Question]) -> IntArray:
    """int64, sorted: the people of the questions whose answers are all in clear."""
    people = [question.devices for question in questions if question.query.in_clear and question.devices is not None]
    return np.unique(np.concatenate([np.zeros(0, np.int64), *people]))
