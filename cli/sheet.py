"""Consent sheet: what a device answers, and how well its answers can be guessed, in words and odds.

The levels follow from the caps of the policy: no question that the policy lets through loses more. Everybody else is
taken to have the same policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS, LevelSpec
from ldpsim.devices.mechanisms.exact_loss import round_up
from ldpsim.devices.policy.policy import VOLUNTEERED, Policy
from ldpsim.devices.query import ATTRIBUTES

VOLUNTEER, OTHER, EVERYBODY = "volunteer", "other", "everybody"
_WHOLE = {"adjacency": "bit_adjacency", "features": "vector", "label": "label"}  # in clear where this is unprotected
_OPEN, _NOT_ASKED = Level("unprotected"), Level("not asked")


@dataclass(frozen=True)
class Role:
    """People who answer about the same.

    Args:
        name: ``VOLUNTEER``, ``OTHER`` or ``EVERYBODY``.
        people: Their number.
        attributes: Attributes that a person may be asked for.
        holds: A level of guarantee for each of :data:`~ldpsim.curator.privacy.levels.LEVELS`.
    """

    name: str
    people: int
    attributes: tuple[str, ...]
    holds: Mapping[str, Level]

    @property
    def clear(self) -> tuple[str, ...]:
        """Attributes that leave the device as they are."""
        return tuple(name for name in self.attributes if self.holds[_WHOLE[name]].status == "unprotected")


def sheet_of(policy: Policy, people: Iterable[int] | None = None) -> str:
    """Return the sheet of a policy, as Markdown.

    Args:
        policy: The policy of the devices.
        people: Public numbers of those who read it, None for everybody: they read of their own roles alone.

    Raises:
        ValueError: for a policy of a federated training.
    """
    from ldpsim.cli.report.documents import markdown
    from ldpsim.strategies.results.in_words import PROTECTIONS

    roles = roles_of(policy)
    if people is not None and policy.volunteers is not None:
        giving = {person in policy.volunteers for person in people}
        roles = tuple(role for role in roles if (role.name == VOLUNTEER) in giving)
    return markdown("sheet.md", policy=policy, roles=roles, levels=list(LEVELS), attributes=ATTRIBUTES,
                    weak=100 * PROTECTIONS[-2].most)  # fmt: skip


def roles_of(policy: Policy) -> tuple[Role, ...]:
    """Return the roles: volunteers and everybody else, or everybody.

    Raises:
        ValueError: for a policy of a federated training, which asks many times.
    """
    if policy.mode == "federated":
        raise ValueError("a consent sheet is about one answer; a federated training asks many times")
    n, holds = policy.facts.n, _of_caps(policy)
    attributes = tuple(name for name in ATTRIBUTES if name in policy.caps)
    if policy.volunteers is None:
        return (Role(EVERYBODY, n, attributes, holds),)
    giving, in_clear = len(policy.volunteers), tuple(name for name in ATTRIBUTES if name in VOLUNTEERED)
    return Role(VOLUNTEER, giving, in_clear, _of_volunteers(holds)), Role(OTHER, n - giving, attributes, holds)


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


def _level(loss: Callable[[LevelSpec], tuple[float, float]], spec: LevelSpec, caps: Mapping[str, object]) -> Level:
    if spec.unit == "owned" or not caps or (spec.attribute is not None and spec.attribute not in caps):
        return _NOT_ASKED
    value, delta = loss(spec)
    return Level("bounded", round_up(value), delta) if math.isfinite(value) else _OPEN
