"""Rows of an audit, and the number of trials behind them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

CONFIDENCE = 1 - 1e-6
TRIALS = 20_000
MOST_TRIALS = 10_000_000
ROUNDING = 2e-9  # claims are rounded up at 1e-9; windows of words are exact to 1e-10
Stream = Callable[[bytes], Any]  # makes the noise of a trial from a key of 32 bytes: the devices' own, NoiseStream


@dataclass(frozen=True)
class AuditRow:
    """One line of an audit.

    Args:
        name: Mechanism or method.
        level: What changes: a level of guarantee, an attribute's ``bit`` or ``vector``, or a check.
        claimed: Claimed loss, None without a claim.
        exact: Exact loss, None where it is not known.
        lower_bound: Lower bound from trials, None without trials.
        confidence: Confidence with which all lower bounds of the audit hold together.
        trials: Number of trials on each side.
        passed: Whether neither figure exceeds the claim; None where nothing bounds it.
        detail: Way in which the exact figure was found, or the fault.
    """

    name: str
    level: str
    claimed: float | None
    exact: float | None
    lower_bound: float | None
    confidence: float
    trials: int
    passed: bool | None
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; infinity is None with a word in ``detail``."""
        values = asdict(self)
        for key in ("claimed", "exact", "lower_bound"):
            if values[key] is not None and not math.isfinite(values[key]):
                values[key] = None
                values["detail"] = f"{key} is infinite; {self.detail}".rstrip("; ")
        return values


def within(claim: float, exact: float | None, bound: float | None) -> bool:
    """Whether neither figure exceeds the claim; only the exact one has rounding errors."""
    return (exact is None or exact <= claim + ROUNDING) and (bound is None or bound <= claim)


def check_effort(trials: int, confidence: float, seed: int) -> None:
    """Refuse a confidence outside (0, 1), fewer than 32 trials or too many, or a seed below 0 (ValueError)."""
    if not 0 < confidence < 1:
        raise ValueError(f"--confidence {confidence:g}: must lie between 0 and 1, both excluded")
    if trials < 32:
        raise ValueError(f"--trials {trials}: at least 32 are needed")
    if trials > MOST_TRIALS:
        raise ValueError(f"--trials {trials}: at most {MOST_TRIALS:,} are possible")
    if seed < 0:
        raise ValueError(f"--seed {seed}: must be 0 or more")


@dataclass(frozen=True)
class Effort:
    """Amount of work of an audit.

    Args:
        trials: Number of trials on each side.
        confidence: Confidence with which all bounds of the audit hold together.
        rows: Number of bounds that share the error.
        seed: Seed of the keys of the noise.

    Raises:
        ValueError: for a confidence outside (0, 1) or fewer than 32 trials.
    """

    trials: int = TRIALS
    confidence: float = CONFIDENCE
    rows: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        check_effort(self.trials, self.confidence, self.seed)

    @property
    def error(self) -> float:
        """Probability of error of one bound."""
        return (1 - self.confidence) / self.rows

    def nothing_claimed(self, name: str, level: str, detail: str) -> AuditRow:
        """Return the row of something that claims nothing, and so passes."""
        return AuditRow(name, level, math.inf, None, None, self.confidence, 0, True, detail)

    def not_audited(self, name: str, level: str, detail: str) -> AuditRow:
        """Return the row of something that could not be audited, and so fails."""
        return AuditRow(name, level, None, None, None, self.confidence, 0, False, detail)
