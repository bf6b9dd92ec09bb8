"""Methods that a plan lists unless some are named: by what they ask, and whom people have to trust."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Listed:
    """A method in a plan.

    Args:
        asks: What people are asked for, in a few words.
        group: ``one report``, ``asking less``, ``other trust``, or ``nothing`` for what needs nobody's answer.
    """

    asks: str
    group: str = "one report"


_LINKS = Listed("links; features are public", "asking less")
LISTED: dict[str, Listed] = {
    "hogs": Listed("links and features"),
    "sbp": Listed("links and features"),
    "solitude": Listed("links and features"),
    "fp-solitude": Listed("links and features"),
    "fp-blink": Listed("links and features"),
    "fp-ldpgen": Listed("links and features"),
    "noisy": Listed("links and features"),
    "lpgnn": Listed("features and labels; links are public", "asking less"),
    "rgnn": Listed("features and labels; links are public", "asking less"),
    "upgnet": Listed("features; links and labels are public", "asking less"),
    "privge": Listed("features; links and labels are public", "asking less"),
    "blink": _LINKS,
    "rr": _LINKS,
    "symrr": _LINKS,
    "dprr": _LINKS,
    "ldpgcn": _LINKS,
    "ldpgen": _LINKS,
    "lp-and": Listed("links", "asking less"),
    "vote": Listed("one vote on the neighbours' classes", "asking less"),
    "ldp-fedavg": Listed("noisy updates of a network", "other trust"),
    "fedavg-mlp": Listed("updates of a network, in clear", "other trust"),
    "pate-m": Listed("the raw record, for an owner", "other trust"),
}
