"""Methods that a plan lists unless some are named, and what each asks for in words."""

from __future__ import annotations

from dataclasses import dataclass

from ldpsim.curator.methods import find

METHODS = (
    "hogs", "sbp", "solitude", "fp-solitude", "fp-blink", "fp-ldpgen", "noisy", "lpgnn", "rgnn", "upgnet", "privge",
    "blink", "rr", "symrr", "dprr", "ldpgcn", "ldpgen", "lp-and", "vote", "ldp-fedavg", "fedavg-mlp", "pate-m", "gap",
    "progap",
)  # fmt: skip
_WORDS = {"adjacency": "links", "features": "features", "label": "labels"}


@dataclass(frozen=True)
class Listed:
    """A method in a plan.

    Args:
        asks: What people are asked for, in a few words.
    """

    asks: str


def listed_as(method: str, *, volunteers: bool = False, labels: bool = False) -> Listed:
    """Return what a method asks.

    Args:
        method: Its name.
        volunteers: Whether some people give label and features in clear.
        labels: Whether others are asked for their label.
    """
    spec = find(method).spec
    if volunteers and spec.asks_volunteers:
        return Listed(f"one vote on list and features{', or the label' if labels else ''}")
    if spec.asks_volunteers:
        return Listed("one vote on the neighbours' classes")
    if spec.trained_by in ("owner", "graph owner"):
        return Listed("the raw record, for an owner")
    if spec.in_rounds:
        return Listed("updates of a network")
    return Listed(" and ".join(_WORDS[part] for part in spec.private) or "nothing")
