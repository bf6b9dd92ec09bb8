"""Methods that a plan lists unless some are named, and what each asks people for, in words."""

from __future__ import annotations

from ldpsim.curator.methods import find

METHODS = (
    "hogs", "sbp", "solitude", "fp-solitude", "fp-blink", "fp-ldpgen", "noisy", "lpgnn", "rgnn", "upgnet", "privge",
    "blink", "rr", "symrr", "dprr", "ldpgcn", "ldpgen", "lp-and", "vote", "ldp-fedavg", "fedavg-mlp", "pate-m", "gap",
    "progap",
)  # fmt: skip


_WORDS = {"adjacency": "links", "features": "features", "label": "labels"}


def asks_of(method: str, *, volunteers: bool = False, labels: bool = False) -> str:
    """Return what a method asks people for, in a few words.

    Args:
        method: Its name.
        volunteers: Whether some people give label and features in clear.
        labels: Whether others are asked for their label.
    """
    spec = find(method).spec
    if spec.trusted == "sum":
        return "features and label, for a sum"
    if spec.asks_volunteers:
        of = f"list and features{', or the label' if labels else ''}" if volunteers else "the neighbours' classes"
        return f"one vote on {of}"
    if spec.trained_by in ("owner", "graph owner"):
        return "the raw record, for an owner"
    if spec.in_rounds:
        return "updates of a network"
    return " and ".join(_WORDS[part] for part in spec.private) or "nothing"
