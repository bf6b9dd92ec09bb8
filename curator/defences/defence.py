"""Base of the defences: a verdict on people, and a change of reports.

A defence reads reports alone. It never learns who lies. Its level is the
probability that one honest person is flagged, whatever the data of that person and of everybody else,
if all others are honest too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.array_types import BoolArray
from ldpsim.devices.mechanisms.counts import NoisyCounts

Notes = dict[str, Any]  # JSON values, for result.json
Judge = Callable[[Reports, float], tuple[BoolArray, Notes]]
Mend = Callable[[Reports, float], tuple[Reports, Notes]]


@dataclass(frozen=True)
class Defence:
    """One defence.

    Args:
        judge: Flags people, bool (n,), at a level for one honest person; None: it flags nobody.
        mend: Changes reports, at the same level; None: it changes none.
    """

    judge: Judge | None = field(default=None, repr=False)
    mend: Mend | None = field(default=None, repr=False)


def noisy_counts(reports: Reports, field: str) -> NoisyCounts | None:
    """Return the mechanism of a field's numbers; None where there are none, or where the noise is another."""
    mechanism = None if field not in reports.arrays else reports.source(field)
    return mechanism if isinstance(mechanism, NoisyCounts) else None


def nobody(reports: Reports) -> BoolArray:
    """bool (n,), False for everybody."""
    return np.zeros(reports.facts.n, np.bool_)


def unused_note(what: str) -> Notes:
    """Return the note of a defence that finds nothing to work on."""
    return {"not_used": f"the reports hold no {what}"}
