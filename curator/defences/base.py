"""Base of the defences: a verdict on people, and a change of reports.

A defence reads reports and public knowledge alone. It never learns who lies. Its level is the
probability that one honest person is flagged, whatever the data of that person and of everybody else,
if all others are honest too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from curator.reports.reports import Reports
from devices.array_types import BoolArray
from devices.facts import PublicKnowledge
from devices.mechanisms.adjacency import AdjacencyMechanism

Notes = dict[str, Any]  # JSON values, for result.json
Judge = Callable[[Reports, PublicKnowledge, float], tuple[BoolArray, Notes]]
Mend = Callable[[Reports, PublicKnowledge, float], tuple[Reports, Notes]]


@dataclass(frozen=True)
class Defence:
    """One defence.

    Args:
        name: Its name on the command line.
        help: One line about what it does.
        fits: Report types that it works on; on others it does nothing.
        judge: Flags people, bool (n,), at a level for one honest person; None: it flags nobody.
        mend: Changes reports, at the same level; None: it changes none.
        rounds: Whether it works on trainings in rounds.
    """

    name: str
    help: str
    fits: tuple[str, ...]
    judge: Judge | None = field(default=None, repr=False)
    mend: Mend | None = field(default=None, repr=False)
    rounds: bool = False


@dataclass(frozen=True)
class FlippedRows:
    """Rows of bits in the reports, under noise that flips each of them alike.

    Args:
        flip: Probability that a bit is flipped; 0 for a row in clear.
        one_end: Person i reports about j < i only.
    """

    flip: float
    one_end: bool


def flipped_rows(reports: Reports) -> FlippedRows | None:
    """Return the rows of bits; None if the reports hold none, or if the flip probability is not known."""
    if reports.adjacency is None:
        return None
    mechanism = reports.source("adjacency")
    flip = 0.0 if mechanism.in_clear else getattr(mechanism, "flip_probability", None)
    if flip is None or not isinstance(mechanism, AdjacencyMechanism):
        return None
    return FlippedRows(float(flip), mechanism.reporting == "one-end")


def nobody(reports: Reports) -> BoolArray:
    """bool (n,), False for everybody."""
    return np.zeros(reports.facts.n, np.bool_)


def silent_on(what: str) -> Notes:
    """Return the note of a defence that finds nothing to work on."""
    return {"not_used": f"the reports hold no {what}"}
