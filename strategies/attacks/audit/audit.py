"""Audits of mechanisms and methods by name, spread over processes, and of a callable that a person names.

Names are also those of other packages; ``noise`` is the stream of random numbers. A callable is ``mine:function``, and
the current folder comes first in the search for modules, as for ``python -m``.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from ldpsim.curator.attacks.mechanism_audit import CONFIDENCE, TRIALS, AuditRow, Effort, audit_mechanism, audit_stream
from ldpsim.curator.attacks.method_audit import audit_method
from ldpsim.curator.attacks.randomiser_audit import Randomiser, audit_randomiser
from ldpsim.curator.methods import Method
from ldpsim.curator.methods import table as methods
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.names import NAMED, callable_named, nearest
from ldpsim.devices.mechanisms import every as mechanisms
from ldpsim.devices.noise import Noise
from ldpsim.strategies.engines.pool import processes
from ldpsim.strategies.experiments.cells import Failed, measure_all
from ldpsim.strategies.experiments.compare import cells_of
from ldpsim.strategies.progress import NOTHING_KEPT, Progress, noted_if_interrupted, quiet
from ldpsim.strategies.seeded import seeded
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import budget_of
from ldpsim.strategies.setup.settings import resolve

NOISE = "noise"
MOST_VALUES = 16
_BOUNDS = 8  # largest number of lower bounds of one task
_MOST_LISTED = 100_000


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
    of_run: Mapping[str, tuple[Method, Budget]] = field(init=False, repr=False)
    effort: Effort = field(init=False, repr=False)

    def __post_init__(self) -> None:
        all_names = everything()
        for name in self.names:
            if name not in all_names:
                raise ValueError(f"{name}: there is no such mechanism or method{nearest(name, all_names)}; "
                                 "`ldpsim audit --all` audits all")  # fmt: skip
        if self.workers < 1:
            raise ValueError(f"--workers {self.workers}: must be 1 or more")
        rows = _BOUNDS * len(self.names or all_names)
        object.__setattr__(self, "effort", Effort(self.trials, self.confidence, rows, self.seed))
        object.__setattr__(self, "of_run", _of_run(self))


def everything() -> list[str]:
    """Return the names of all that can be audited."""
    return list(dict.fromkeys([NOISE, *mechanisms(), *sorted(methods())]))


@noted_if_interrupted(lambda: NOTHING_KEPT)
def audit(options: AuditOptions, *, progress: Progress = quiet) -> list[AuditRow]:
    """Return the rows of an audit, in the order of the names; what cannot be audited has a row that fails."""
    names = options.names or everything()
    one = partial(audit_one, effort=options.effort, of_run=options.of_run)
    with processes(options.workers, tasks=len(names), here=True, prepare=None) as pool:
        rows = measure_all({name: name for name in names}, one, pool, progress=progress)
    rows |= {name: [options.effort.not_audited(name, "audit", outcome.line)]
             for name, outcome in rows.items() if isinstance(outcome, Failed)}  # fmt: skip
    return [row for name in names for row in rows[name]]


def audit_one(name: str, effort: Effort, of_run: Mapping[str, tuple[Method, Budget]]) -> list[AuditRow]:
    """Audit one thing by name; a name of both a mechanism and a method is audited as both.

    Args:
        name: The name.
        effort: Trials and confidence.
        of_run: Methods with the parameters and the budget of a run; what shares their name is left out.
    """
    rows = audit_stream(Noise) if name == NOISE else []
    if name in mechanisms() and name not in of_run:
        rows += audit_mechanism(mechanisms()[name], effort, stream=Noise)
    if name in methods():
        rows += audit_method(methods()[name], effort, stream=Noise, of_run=of_run.get(name))
    return rows


def _of_run(options: AuditOptions) -> dict[str, tuple[Method, Budget]]:
    """Return each method with the parameters and the budget of a run with these options; empty without options."""
    if options.epsilon is None and not options.settings:
        return {}
    for name in options.names or everything():
        if name not in methods():
            option = "--set" if options.epsilon is None else "--epsilon"
            raise ValueError(f"{option}: only for methods, and {name} is none; name the methods to audit")
    by_name = {}
    for cell in cells_of(options.names, RunOptions(epsilon=options.epsilon, settings=options.settings)):
        kind = methods()[cell.label]
        if kind.spec.trained_by in ("owner", "graph owner"):
            raise ValueError(
                f"{kind.spec.name}: an owner's release is audited at one small setting; --epsilon and --set are not "
                "read"
            )
        budget = budget_of(cell.options, public_features=kind.spec.public_features)
        by_name[cell.label] = resolve(cell.options, kind, budget).method, budget
    return by_name


@noted_if_interrupted(lambda: NOTHING_KEPT)
def audit_callable(
    name: str, domain: str, effort: Effort, *, claimed: float, delta: float = 0.0, law: str | None = None,
    progress: Progress = quiet,
) -> list[AuditRow]:  # fmt: skip
    """Return the rows of a callable.

    Args:
        name: ``module:function``; called as f(value), or f(value, rng=generator) if it has a parameter ``rng``.
        domain: Values, in one of the forms of :func:`domain_of`.
        effort: Trials and confidence.
        claimed: Claimed epsilon.
        delta: Delta of the claim.
        law: ``module:function`` of value -> {report: probability}; else the attribute ``law`` of the callable.
        progress: Function that is told the share that is done.

    Raises:
        ValueError: for numbers outside their range, a name, domain, law or report that does not fit, and where the
            callable raises.
    """
    if not (math.isfinite(claimed) and claimed >= 0):
        raise ValueError(f"--claims {claimed:g}: must be 0 or more")
    if not 0 <= delta < 1:
        raise ValueError(f"--delta {delta:g}: must lie in [0, 1)")
    function = callable_named(name)
    stated = callable_named(law, "--law") if law else getattr(function, "law", None)
    values, note = sampled(domain_of(domain), effort.seed)
    rng = np.random.default_rng(effort.seed)
    draw = partial(function, rng=rng) if takes_rng(function) else function
    with seeded(effort.seed):
        return audit_randomiser(Randomiser(name, draw, values, stated, note), effort, claimed=claimed, delta=delta,
                                progress=lambda share: progress("audit", share))  # fmt: skip


def domain_of(text: str) -> list[Any]:
    """Return the values of ``--domain``, two or more, each once.

    Raises:
        ValueError: for a text of no known form, a function that raises, one value, or a value twice.

    >>> domain_of("1:3"), domain_of("yes,no"), domain_of("[0.5, [1, 2]]")
    ([1, 2, 3], ['yes', 'no'], [0.5, [1, 2]])
    """
    try:
        values = _values(text.strip())
    except (TypeError, ValueError) as error:
        raise ValueError(f"--domain {text}: {error}") from error
    if len(values) < 2:
        number = f"{len(values)} value{'' if len(values) == 1 else 's'}"
        raise ValueError(f"--domain {text}: {number}; at least two are needed, because they are compared")
    if len({repr(value) for value in values}) < len(values):
        raise ValueError(f"--domain {text}: a value is given twice")
    return values


def _values(text: str) -> list[Any]:
    if ends := re.fullmatch(r"(-?\d+):(-?\d+)", text):
        return list(islice(range(int(ends[1]), int(ends[2]) + 1), _MOST_LISTED))
    if text.startswith("["):
        return list(json.loads(text))
    if NAMED.fullmatch(text):
        function = callable_named(text)
        try:
            values = function()
            if isinstance(values, Iterable):
                return list(islice(values, _MOST_LISTED))
        except Exception as error:
            raise ValueError(f"the function raised {type(error).__name__}: {error}") from error
        raise ValueError("the function yields no values")
    if ":" in text or not text:
        raise ValueError("the forms are 0:7, a,b,c, a JSON list or module:function")
    words = [word.strip() for word in text.split(",")]
    for kind in (int, float):  # words are numbers where all of them are
        try:
            return [kind(word) for word in words]
        except ValueError:
            continue
    return words


def takes_rng(function: Callable[..., Any]) -> bool:
    """Whether a callable has a parameter ``rng``."""
    try:
        return "rng" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def sampled(values: list[Any], seed: int) -> tuple[list[Any], str]:
    """Return at most :data:`MOST_VALUES` values, the first and the last among them, and words where others are left."""
    if len(values) <= MOST_VALUES:
        return values, ""
    middle = np.random.default_rng(seed).choice(np.arange(1, len(values) - 1), MOST_VALUES - 2, replace=False)
    chosen = [values[place] for place in (0, *sorted(middle.tolist()), len(values) - 1)]
    return chosen, f"{MOST_VALUES} of {len(values):,} values: the first, the last, others drawn with the seed"
