"""Consent sheet: what a device is asked, and how well its answer can be guessed, in words and odds.

With a question the levels are those of its guarantee. Without one they follow from the caps of the policy: no
question that the policy lets through loses more. Everybody else is taken to have the same policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS, LevelSpec
from ldpsim.devices.mechanisms.exact_loss import round_up
from ldpsim.devices.policy.policy import VOLUNTEERED, Policy
from ldpsim.devices.query import ATTRIBUTES

if TYPE_CHECKING:
    from ldpsim.curator.reports.question import Question
    from ldpsim.devices.query import Query

VOLUNTEER, OTHER, EVERYBODY = "volunteer", "other", "everybody"
_WHOLE = {"adjacency": "bit_adjacency", "features": "vector", "label": "label"}  # in clear where this is unprotected
_OPEN, _NOT_ASKED = Level("unprotected"), Level("not asked")


@dataclass(frozen=True)
class Role:
    """People who are asked the same.

    Args:
        name: ``VOLUNTEER``, ``OTHER`` or ``EVERYBODY``.
        people: Their number.
        questions: Attributes that a person is asked, in the order of :data:`ldpsim.devices.query.ATTRIBUTES`. Of
        several
            entries each person gets one.
        holds: A level of guarantee for each of :data:`~ldpsim.curator.privacy.levels.LEVELS`.
        allowed: What holds for all questions that the policy lets through; the same as ``holds`` without a question.
        refused: Whether the policy refuses the question.
        stages: Most steps in which a person answers.
    """

    name: str
    people: int
    questions: tuple[tuple[str, ...], ...]
    holds: Mapping[str, Level]
    allowed: Mapping[str, Level]
    refused: bool = False
    stages: int = 1

    @property
    def asked(self) -> tuple[str, ...]:
        """Attributes of all questions."""
        return _ordered(set().union(*self.questions))

    @property
    def clear(self) -> tuple[str, ...]:
        """Attributes that leave the device as they are."""
        return tuple(name for name in self.asked if self.holds[_WHOLE[name]].status == "unprotected")


def sheet_of(policy: Policy, questions: Sequence[Question] | None = None, people: Iterable[int] | None = None) -> str:
    """Return the sheet of a policy and a question, as Markdown.

    Args:
        policy: The policy of the devices.
        questions: The questions of the collection; None for any question that the policy lets through.
        people: Public numbers of those who read it, None for everybody: the roles of nobody else are told.

    Raises:
        ValueError: for a policy of a federated training.
    """
    from ldpsim.cli.documents import markdown
    from ldpsim.strategies.results.in_words import PROTECTIONS

    roles = roles_of(policy, questions)
    if people is not None and policy.volunteers is not None:
        giving = {person in policy.volunteers for person in people}
        roles = tuple(role for role in roles if (role.name == VOLUNTEER) in giving)
    return markdown("sheet.md", policy=policy, roles=roles, question=questions is not None, levels=list(LEVELS),
                    attributes=ATTRIBUTES, weak=100 * PROTECTIONS[-2].most)  # fmt: skip


def roles_of(policy: Policy, questions: Sequence[Question] | None = None) -> tuple[Role, ...]:
    """Return the roles: volunteers and everybody else, or everybody.

    Args:
        policy: The policy of the devices.
        questions: The questions of the collection; None for any question that the policy lets through.

    Raises:
        ValueError: for a policy of a federated training, which asks many times.
    """
    if policy.mode == "federated":
        raise ValueError("a consent sheet is about one answer; a federated training asks many times")
    if policy.volunteers is None:
        return (_role(EVERYBODY, policy.facts.n, policy, questions),)
    giving = len(policy.volunteers)
    return (_role(VOLUNTEER, giving, policy, questions), _role(OTHER, policy.facts.n - giving, policy, questions))


def _role(name: str, people: int, policy: Policy, questions: Sequence[Question] | None) -> Role:
    allowed = _of_volunteers(_of_caps(policy)) if name == VOLUNTEER else _of_caps(policy)
    if questions is None:
        asked = VOLUNTEERED if name == VOLUNTEER else set(policy.caps)
        return Role(name, people, (_ordered(asked),) if asked else (), allowed, allowed)
    from ldpsim.curator.privacy.guarantee import Claim, local_guarantee

    holds = local_guarantee(policy.facts, questions, claim=Claim("", None), volunteers=name != EVERYBODY).holds
    mine = [question for question in questions
            if name == EVERYBODY or question.query.in_clear is (name == VOLUNTEER)]  # fmt: skip
    refused = not _lets_through(policy, [question.query for question in mine], name)
    return Role(name, people, _of_each(policy.facts.n, mine), _of_volunteers(holds) if name == VOLUNTEER else holds,
                allowed, refused, _stages(policy.facts.n, mine))  # fmt: skip


def _of_each(n: int, questions: Sequence[Question]) -> tuple[tuple[str, ...], ...]:
    """Return the attributes that a person is asked, one entry for each set of attributes that some person gets."""
    asked = np.zeros((n, len(ATTRIBUTES)), bool)
    for question in questions:
        columns = np.array([name in question.query.attributes for name in ATTRIBUTES])
        asked[slice(None) if question.devices is None else question.devices] |= columns
    found = np.unique(asked[asked.any(axis=1)], axis=0)
    return tuple(tuple(name for name, given in zip(ATTRIBUTES, row, strict=True) if given) for row in found[::-1])


def _stages(n: int, questions: Sequence[Question]) -> int:
    """Return the most steps in which a person answers."""
    steps = np.zeros(n, np.int64)
    for question in questions:
        steps[slice(None) if question.devices is None else question.devices] += len(question.query.plan)
    return int(steps.max())


def _ordered(asked: set[str] | frozenset[str]) -> tuple[str, ...]:
    return tuple(name for name in ATTRIBUTES if name in asked)


def _lets_through(policy: Policy, queries: Sequence[Query], role: str) -> bool:
    volunteers = policy.volunteers or frozenset()
    device = next(person for person in range(policy.facts.n) if (person in volunteers) == (role == VOLUNTEER))
    return all(policy.allows(query, device=device) and policy.allows_total(0.0, query, device=device)
               for query in queries)  # fmt: skip


def _of_volunteers(holds: Mapping[str, Level]) -> dict[str, Level]:
    """Return the levels of volunteers: label and features are in clear, and only others answer about their edges."""

    def level(name: str, spec: LevelSpec) -> Level:
        if spec.unit == "owned" or (spec.attribute == "adjacency" and spec.unit != "edge"):
            return _NOT_ASKED
        return holds[name] if spec.attribute == "adjacency" else _OPEN

    return {name: level(name, spec) for name, spec in LEVELS.items()}


def _of_caps(policy: Policy) -> dict[str, Level]:
    """Return the levels that hold for every question which the policy lets through."""
    if policy.mode == "owner":
        return {name: _NOT_ASKED if spec.unit == "owned" else _OPEN for name, spec in LEVELS.items()}
    caps = policy.caps
    whole = {name: min(cap.vector, cap.user, policy.user_cap) for name, cap in caps.items()}
    entry = {name: min(cap.bit, whole[name]) for name, cap in caps.items()}
    delta = {name: cap.delta for name, cap in caps.items()}

    def loss(spec: LevelSpec) -> tuple[float, float]:
        if spec.attribute is not None:
            times = 2 if spec.unit == "edge" and policy.reporting == "both" else 1
            of = whole if spec.unit == "whole" else entry
            return times * of[spec.attribute], times * delta[spec.attribute]
        own, own_delta = min(math.fsum(whole.values()), policy.user_cap), math.fsum(delta.values())
        if spec.unit != "node" or "adjacency" not in caps:
            return own, own_delta
        others = policy.facts.n - 1
        return own + others * entry["adjacency"], own_delta + others * delta["adjacency"]

    return {name: _level(loss, spec, caps) for name, spec in LEVELS.items()}


def _level(loss: Callable[[LevelSpec], tuple[float, float]], spec: LevelSpec, asked: Mapping[str, object]) -> Level:
    if spec.unit == "owned" or not asked or (spec.attribute is not None and spec.attribute not in asked):
        return _NOT_ASKED
    value, delta = loss(spec)
    return Level("bounded", round_up(value), delta) if math.isfinite(value) else _OPEN
