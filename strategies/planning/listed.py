"""Methods that a plan lists unless some are named: by what they ask, and whom people have to trust.

What is public in a setting follows from its guarantee (:mod:`ldpsim.strategies.planning.in_clear`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ldpsim.curator.methods import find

# Title of each group.
GROUPS = {
    "one report": "One report",
    "asking less": "Asking less",
    "other trust": "Other trust",
    "nothing": "No protection",
}


@dataclass(frozen=True)
class Listed:
    """A method in a plan.

    Args:
        asks: What people are asked for, in a few words.
        group: A key of :data:`GROUPS`; ``nothing`` needs no answer.
    """

    asks: str
    group: str = "one report"


_LINKS = Listed("links", "asking less")
LISTED: dict[str, Listed] = {
    "hogs": Listed("links and features"),
    "sbp": Listed("links, with or without features"),
    "solitude": Listed("links and features"),
    "fp-solitude": Listed("links and features"),
    "fp-blink": Listed("links and features"),
    "fp-ldpgen": Listed("links and features"),
    "noisy": Listed("links and features"),
    "lpgnn": Listed("features and labels", "asking less"),
    "rgnn": Listed("features and labels", "asking less"),
    "upgnet": Listed("features", "asking less"),
    "privge": Listed("features", "asking less"),
    "blink": _LINKS,
    "rr": _LINKS,
    "symrr": _LINKS,
    "dprr": _LINKS,
    "ldpgcn": _LINKS,
    "ldpgen": _LINKS,
    "lp-and": _LINKS,
    "vote": Listed("one vote on the neighbours' classes", "asking less"),
    "ldp-fedavg": Listed("noisy updates of a network", "other trust"),
    "fedavg-mlp": Listed("updates of a network, in clear", "other trust"),
    "pate-m": Listed("the raw record, for an owner", "other trust"),
    "gap": Listed("the raw record, for an owner", "other trust"),
    "progap": Listed("the raw record, for an owner", "other trust"),
}


def listed_as(method: str, *, volunteers: bool = False, labels: bool = False) -> Listed:
    """Return what a method asks, and its group; of one that is not in the list by its private attributes and trust.

    Args:
        method: Its name.
        volunteers: Whether some people give label and features in clear.
        labels: Whether others are asked for their label.
    """
    kind = find(method)
    if volunteers and kind.spec.asks_volunteers:
        return Listed(f"one vote on list and features{', or the label' if labels else ''}", "asking less")
    groups = {"none": "nothing", "trusted curator": "other trust"}
    spec = kind.spec
    return LISTED.get(method) or Listed(", ".join(spec.private) or "nothing", groups.get(spec.trust, "one report"))
