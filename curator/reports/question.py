"""Questions to people, and the privacy budget of a run."""

from __future__ import annotations

import math
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


def stages_of(questions: Sequence[Question]) -> int:
    """Return the largest number of stages of a question."""
    return max(len(question.query.plan) for question in questions)


def keys_of(questions: Sequence[Question]) -> tuple[tuple[bytes, bytes | None], ...]:
    """Return what identifies the questions of a collection and their people; the collection's id plays no part."""
    return tuple(
        (replace(question.query, collection="any").to_bytes(), None if question.devices is None else
         question.devices.astype("<i8").tobytes())
        for question in questions
    )  # fmt: skip


def volunteers_of(questions: Sequence[Question]) -> IntArray:
    """int64, sorted: the people of the questions whose answers are all in clear."""
    people = [question.devices for question in questions if question.query.in_clear]
    return np.unique(np.concatenate([each for each in people if each is not None] or [np.zeros(0, np.int64)]))


@dataclass(frozen=True)
class Budget:
    """Privacy budget of a run, in each paper's own sense.

    Args:
        epsilon: The method's total.
        eps_adjacency, eps_features, eps_labels: Finer budgets; each replaces the share
            that ``epsilon`` would give. ``inf`` for features or labels: in clear, if the
            method has such a setting.
        feature_share: Share of ``epsilon`` for the features (HoGS's delta), in [0, 1); 0: they are not asked.
        public_features: Features are public and cost nothing.
        private_labels: Labels of training and validation nodes are asked under noise.
        reporting: ``both`` ends of a pair report it, or ``one-end``.
        label_mechanism: Name of the mechanism of the label report.
        volunteers: Whether labelled people give label and features in clear, and answer nothing else.

    Raises:
        ValueError: for a budget that is not a finite number above 0, or a share outside [0, 1).
    """

    epsilon: float = 8.0
    eps_adjacency: float | None = None
    eps_features: float | None = None
    eps_labels: float | None = None
    feature_share: float = 0.1
    public_features: bool = False
    private_labels: bool = False
    reporting: Reporting = "both"
    label_mechanism: str = "grr"
    volunteers: bool = False

    def __post_init__(self) -> None:
        for entry in ("epsilon", "eps_adjacency", "eps_features", "eps_labels"):
            value = getattr(self, entry)
            in_clear = value == math.inf and entry in ("eps_features", "eps_labels")
            if value is not None and not in_clear and not (math.isfinite(value) and value > 0):
                raise ValueError(f"--{entry.replace('_', '-')} must be a finite number above 0, not {value}")
        if not 0 <= self.feature_share < 1:
            raise ValueError(f"--feature-share must be 0 or more and below 1, not {self.feature_share}")
        if self.reporting not in ("both", "one-end"):
            raise ValueError(f"--reporting must be both or one-end, not {self.reporting!r}")
