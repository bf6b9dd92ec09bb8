"""Policies and questions for the tests of the consent sheet."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from ldpsim.curator.methods import BUILT_IN, Question, find
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.policy.policy import Policy
from ldpsim.strategies.flower_app.deployed import PublicFile, agreed_policy, questions_of

FACTS = PublicFacts(20, 6, 3)
Agreed = tuple[Policy, tuple[Question, ...]]


def agreed(
    method: str = "vote",
    epsilon: float = 2.0,
    *,
    people: int = 3,
    labels: str = "volunteers",
    config: dict[str, Any] | None = None,
    **policy: Any,
) -> Agreed:
    """Return a policy and its questions; labels are of ``volunteers``, ``public`` or ``private``."""
    volunteers = np.arange(people) if labels == "volunteers" else None
    known = np.where(np.arange(FACTS.n) % 2 if labels == "public" else True, -1, 1)
    public = PublicFile(FACTS, known, volunteers)
    given = {"method": method, "epsilon": epsilon, **({"settings": "batches=2"} if method == "vote" else {}),
             **({"eps-labels": 1.0} if labels == "private" else {}), **(config or {})}  # fmt: skip
    return agreed_policy(given, public, **policy), questions_of(given, public)


@cache
def all_agreed() -> dict[str, Agreed]:
    """Return policy and questions by name, for every method and source of labels that a deployment can ask."""
    return dict(_all_agreed())


def _all_agreed() -> Iterator[tuple[str, Agreed]]:
    for method in BUILT_IN:
        if find(method).spec.reads:
            continue
        for labels in ("volunteers", "public", "private"):
            for epsilon in (0.5, 4.0):
                for config in ({}, {"reporting": "one-end"}):
                    try:
                        yield (
                            f"{method} {labels} {epsilon}{' one-end' if config else ''}",
                            agreed(method, epsilon, labels=labels, config=config),
                        )
                    except ValueError:  # such a deployment is refused
                        continue
