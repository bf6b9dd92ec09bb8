"""Everything there is to audit, spread over processes: what ``ldpsim audit`` does.

Mechanisms and methods are found by name, those of other packages through their entry
points included. ``device`` is the whole device, ``noise`` the stream of random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context

from curator.attacks.mechanism_audit import (
    CONFIDENCE,
    TRIALS,
    AuditRow,
    Effort,
    audit_mechanism,
    audit_stream,
)
from curator.attacks.mechanism_audit import table as mechanisms
from curator.attacks.method_audit import audit_method
from curator.methods import table as methods
from curator.names import nearest
from devices.noise import NoiseStream
from strategies.audit.device import audit_device

DEVICE, NOISE = "device", "noise"
_BOUNDS = 8  # the most lower bounds of one task
Progress = Callable[[str, float | None], None]


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """What to audit and how hard.

    Args:
        names: Mechanisms, methods, ``device``, ``noise``; empty for all of them.
        trials: Trials a side of every lower bound.
        confidence: With which all lower bounds hold together; 1 - confidence is the chance
            that the audit fails something that is right.
        seed: Of the trials' keys.
        workers: How many processes.

    Raises:
        ValueError: for a name that there is not, or numbers outside their range.
    """

    names: tuple[str, ...] = ()
    trials: int = TRIALS
    confidence: float = CONFIDENCE
    seed: int = 0
    workers: int = 1

    def __post_init__(self) -> None:
        known = everything()
        for name in self.names:
            if name not in known:
                raise ValueError(
                    f"{name}: there is no such mechanism or method{nearest(name, known)} (known: {', '.join(known)})"
                )
        if self.workers < 1:
            raise ValueError(f"--workers {self.workers}: must be 1 or more")
        Effort(self.trials, self.confidence)


def everything() -> list[str]:
    """Return all that can be audited, by name."""
    return list(dict.fromkeys([NOISE, *mechanisms(), *sorted(methods()), DEVICE]))


def audit(options: AuditOptions, *, progress: Progress | None = None) -> list[AuditRow]:
    """Return the rows of an audit, in the order of the names."""
    tell = progress or (lambda phase, share: None)
    names = options.names or tuple(everything())
    effort = Effort(options.trials, options.confidence, _BOUNDS * len(names), options.seed)
    found: list[AuditRow] = []
    workers = min(options.workers, len(names))
    if workers == 1:
        for number, name in enumerate(names):
            tell("audit", number / len(names))
            found += audit_one(name, effort)
        return found
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for number, rows in enumerate(pool.map(audit_one, names, [effort] * len(names))):
            tell("audit", (number + 1) / len(names))
            found += rows
    return found


def audit_one(name: str, effort: Effort) -> list[AuditRow]:
    """Audit one thing by name; a name of both a mechanism and a method is audited as both."""
    rows: list[AuditRow] = []
    if name == NOISE:
        rows += [replace(row, name=NOISE) for row in audit_stream(NoiseStream)]
    if name == DEVICE:
        rows += audit_device()
    if name in mechanisms():
        rows += audit_mechanism(mechanisms()[name], effort, stream=NoiseStream)
    if name in methods():
        rows += audit_method(methods()[name], effort, stream=NoiseStream)
    return rows


def failed(rows: Sequence[AuditRow]) -> list[AuditRow]:
    """Return the rows that did not pass."""
    return [row for row in rows if not row.passed]
