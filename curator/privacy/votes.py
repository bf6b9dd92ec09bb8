"""Losses of votes: one small answer about a whole neighbour list, from the parameters alone.

Everybody answers T times at epsilon each, and labelled people may report their label at
epsilon_y once. Whatever the tables are, and also where a table depends on earlier answers,

    Pr[transcript] = product of Pr[question | past] Pr[answer | question, own list],

so the losses of the answers that a change touches add. D bounds how many lists hold a person.
A bound on how many neighbours a device counts is no such bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ldpsim.devices.mechanisms import Reporting, round_up


@dataclass(frozen=True, kw_only=True)
class Votes:
    """Votes of a population.

    Args:
        epsilon: Loss of one answer, above 0.
        eps_labels: Loss of the label that is reported; None where labels are public.
        times: Number of times T that everybody answers.
        lists: Largest number D of lists that hold one person; None if unknown.
        people: Number of people n; None if unknown.
        reporting: ``both`` ends of a pair read it, or ``one-end``.

    Raises:
        ValueError: for numbers outside these.
    """

    epsilon: float
    eps_labels: float | None = None
    times: int = 1
    lists: int | None = None
    people: int | None = None
    reporting: Reporting = "both"

    def __post_init__(self) -> None:
        for option, value in (("--epsilon", self.epsilon), ("--eps-labels", self.eps_labels)):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ValueError(f"{option} {value:g}: must be a finite number above 0")
        for option, count, least in (("--queries", self.times, 1), ("--lists", self.lists, 0),
                                     ("--nodes", self.people, 1)):  # fmt: skip
            if count is not None and count < least:
                raise ValueError(f"{option} {count}: must be {least} or more")
        if self.reporting not in ("both", "one-end"):
            raise ValueError(f"--reporting {self.reporting}: must be both or one-end")


def vote_losses(votes: Votes) -> dict[str, float | None]:
    """Return the loss at every level; None where it is unknown, unbounded or nothing is reported.

    ``node_joins``: a person with at most D lists appears or disappears. ``node``: all links of a
    person change, so up to D old and D new neighbours answer otherwise, and never more than all.

    >>> vote_losses(Votes(epsilon=4, lists=10, people=2708))["node"]
    84.0
    """
    each, label = votes.times * votes.epsilon, votes.eps_labels or 0.0
    others = None if votes.people is None else votes.people - 1
    joins = votes.lists if others is None or votes.lists is None else min(votes.lists, others)
    changes = others if joins is None else (2 * joins if others is None else min(2 * joins, others))
    return {
        "bit": round_up(each),
        "relationship": round_up(each if votes.reporting == "one-end" else 2 * each),
        "label": votes.eps_labels,
        "user": round_up(each + label),
        "node_joins": None if joins is None else round_up((1 + joins) * each + label),
        "node": None if changes is None else round_up((1 + changes) * each + label),
    }
