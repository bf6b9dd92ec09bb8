"""Audit of a callable that a person names (``ldpsim audit package.module:function``)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpsim.curator.attacks.mechanism_audit import CONFIDENCE, TRIALS, AuditRow, Effort, check_effort
from ldpsim.curator.attacks.randomiser_audit import Randomiser, audit_randomiser
from ldpsim.strategies.attacks.audit.audit import callable_named, domain_of, takes_rng
from ldpsim.strategies.progress import NOTHING_KEPT, Progress, noted_if_interrupted, quiet
from ldpsim.strategies.seeded import seeded

MOST_VALUES = 16
SECONDS = 300.0


@dataclass(frozen=True, kw_only=True)
class RandomiserOptions:
    """Options of the audit of a callable.

    Args:
        function: ``module:function``; called as f(value), or f(value, rng=generator) if it has a parameter ``rng``.
        domain: Values, in one of the forms of :func:`ldpsim.strategies.attacks.audit.audit.domain_of`.
        claims: Claimed epsilon.
        delta: Delta of the claim.
        law: ``module:function`` of value -> {report: probability}; else the attribute ``law`` of the callable.
        event: ``module:function`` of report -> what is counted.
        trials: Number of trials of each value.
        confidence: Confidence with which all statements hold together.
        seed: Seed of the trials.
        seconds: Time for the trials.

    Raises:
        ValueError: for numbers outside their range.
    """

    function: str
    domain: str
    claims: float
    delta: float = 0.0
    law: str | None = None
    event: str | None = None
    trials: int = TRIALS
    confidence: float = CONFIDENCE
    seed: int = 0
    seconds: float = SECONDS

    def __post_init__(self) -> None:
        if not (math.isfinite(self.claims) and self.claims >= 0):
            raise ValueError(f"--claims {self.claims:g}: must be 0 or more")
        if not 0 <= self.delta < 1:
            raise ValueError(f"--delta {self.delta:g}: must lie in [0, 1)")
        if not self.seconds > 0:
            raise ValueError(f"--time-limit {self.seconds:g}: must be above 0")
        check_effort(self.trials, self.confidence, self.seed)


@noted_if_interrupted(lambda: NOTHING_KEPT)
def audit_named(options: RandomiserOptions, *, progress: Progress = quiet) -> list[AuditRow]:
    """Return the rows of a callable.

    Raises:
        ValueError: for a name, domain, law or report that does not fit, and where the callable raises.
    """
    function = callable_named(options.function)
    law = callable_named(options.law, "--law") if options.law else getattr(function, "law", None)
    event = callable_named(options.event, "--event") if options.event else None
    values, note = sampled(domain_of(options.domain), options.seed)
    draw = _calls(function, event, np.random.default_rng(options.seed))
    effort = Effort(options.trials, options.confidence, 1, options.seed)
    with seeded(options.seed):
        return audit_randomiser(
            Randomiser(options.function, draw, values, law if event is None else _law_of_events(law, event), note),
            effort, claimed=options.claims, delta=options.delta, seconds=options.seconds,
            progress=lambda share: progress("audit", share),
        )  # fmt: skip


def sampled(values: list[Any], seed: int) -> tuple[list[Any], str]:
    """Return at most :data:`MOST_VALUES` values, the first and the last among them, and words where others are left."""
    if len(values) <= MOST_VALUES:
        return values, ""
    middle = np.random.default_rng(seed).choice(np.arange(1, len(values) - 1), MOST_VALUES - 2, replace=False)
    kept = [0, *sorted(middle.tolist()), len(values) - 1]
    return [values[place] for place in kept], (
        f"{MOST_VALUES} of {len(values):,} values: the first, the last, others drawn with the seed"
    )


def _calls(
    function: Callable[..., Any], event: Callable[[Any], Any] | None, rng: np.random.Generator
) -> Callable[[Any], Any]:
    call: Callable[[Any], Any] = (lambda value: function(value, rng=rng)) if takes_rng(function) else function
    return call if event is None else lambda value: event(call(value))


def _law_of_events(law: Any, event: Callable[[Any], Any]) -> Any:
    """Return the law of what is counted, None without a law."""
    if law is None:
        return None

    def counted(value: Any) -> dict[Any, float]:
        chances: dict[Any, float] = {}
        for report, chance in law(value).items():
            seen = event(report)
            chances[seen] = chances.get(seen, 0.0) + chance
        return chances

    return counted
