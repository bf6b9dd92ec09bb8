"""Audits of mechanisms and methods, spread over processes (``ldpsim audit``).

They are found by name, also those of other packages. ``noise`` is the stream of random numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from ldpsim.curator.attacks.audit_row import CONFIDENCE, TRIALS, AuditRow, Effort, check_effort
from ldpsim.curator.attacks.mechanism_audit import audit_mechanism
from ldpsim.curator.attacks.method_audit import audit_method
from ldpsim.curator.attacks.stream_audit import audit_stream
from ldpsim.curator.methods import Method
from ldpsim.curator.methods import table as methods
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.names import nearest
from ldpsim.devices.mechanisms import every as mechanisms
from ldpsim.devices.noise import NoiseStream
from ldpsim.strategies.attacks.campaign import run_cells
from ldpsim.strategies.experiments.compare import cells_of
from ldpsim.strategies.experiments.failures import Failed
from ldpsim.strategies.progress import NOTHING_KEPT, Progress, noted_if_interrupted, quiet
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import budget_of
from ldpsim.strategies.setup.settings import resolve

NOISE = "noise"
_BOUNDS = 8  # largest number of lower bounds of one task


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """Options of an audit.

    Args:
        names: Mechanisms, methods, ``noise``; empty for all of them.
        trials: Number of trials on each side of every lower bound.
        confidence: Confidence with which all lower bounds hold together. 1 - confidence is
            the probability that the audit fails something that is right.
        seed: Seed of the trials' keys.
        workers: Number of processes.
        epsilon, settings: Of a run (``--epsilon``, ``--set``): the setting of methods. Without them each has its
            default parameters and a small budget.

    Raises:
        ValueError: for an unknown name, numbers outside their range, or a setting that a run refuses.
    """

    names: tuple[str, ...] = ()
    trials: int = TRIALS
    confidence: float = CONFIDENCE
    seed: int = 0
    workers: int = 1
    epsilon: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    asked: Mapping[str, tuple[Method, Budget]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        known = everything()
        for name in self.names:
            if name not in known:
                raise ValueError(
                    f"{name}: there is no such mechanism or method{nearest(name, known)} (known: {', '.join(known)})"
                )
        if self.workers < 1:
            raise ValueError(f"--workers {self.workers}: must be 1 or more")
        check_effort(self.trials, self.confidence, self.seed)
        object.__setattr__(self, "asked", _asked(self))


def everything() -> list[str]:
    """Return the names of all that can be audited."""
    return list(dict.fromkeys([NOISE, *mechanisms(), *sorted(methods())]))


@noted_if_interrupted(lambda: NOTHING_KEPT)
def audit(options: AuditOptions, *, progress: Progress = quiet) -> list[AuditRow]:
    """Return the rows of an audit, in the order of the names; what cannot be audited has a row that fails."""
    names = options.names or tuple(everything())
    effort = Effort(options.trials, options.confidence, _BOUNDS * len(names), options.seed)
    found: dict[str, list[AuditRow]] = {}
    progress("audit", 0.0)
    for name, rows in run_cells(
        names, partial(audit_one, effort=effort, asked=options.asked), workers=options.workers, trains=False
    ):
        found[name] = [effort.not_audited(name, "audit", rows.line)] if isinstance(rows, Failed) else rows
        progress("audit", len(found) / len(names))
    return [row for name in names for row in found[name]]


def _asked(options: AuditOptions) -> dict[str, tuple[Method, Budget]]:
    """Return each method with the parameters and the budget of a run with these options; empty without options."""
    if options.epsilon is None and not options.settings:
        return {}
    for name in options.names or everything():
        if name not in methods():
            option = "--set" if options.epsilon is None else "--epsilon"
            raise ValueError(f"{option}: only for methods, and {name} is none; name the methods to audit")
    run = RunOptions(epsilon=options.epsilon, settings=options.settings)
    found = {}
    for cell in cells_of(options.names, run):
        kind = methods()[cell.label]
        spec = kind.spec
        if spec.trained_by in ("owner", "graph owner"):
            raise ValueError(
                f"{spec.name}: an owner's release is audited at one small setting; --epsilon and --set are not read"
            )
        budget = budget_of(cell.options, public_features=spec.public_features)
        found[cell.label] = resolve(cell.options, kind, budget).method, budget
    return found


def audit_one(name: str, effort: Effort, asked: Mapping[str, tuple[Method, Budget]]) -> list[AuditRow]:
    """Audit one thing by name; a name of both a mechanism and a method is audited as both.

    Args:
        name: The name.
        effort: Trials and confidence.
        asked: Methods with the parameters and the budget that were asked for; what shares their name is left out.
    """
    rows: list[AuditRow] = []
    if name == NOISE:
        rows += [replace(row, name=NOISE) for row in audit_stream(NoiseStream)]
    if name in mechanisms() and name not in asked:
        rows += audit_mechanism(mechanisms()[name], effort, stream=NoiseStream)
    if name in methods():
        rows += audit_method(methods()[name], effort, stream=NoiseStream, asked=asked.get(name))
    return rows
