"""Callables and domains that a person names for an audit: ``mine:function``, ``0:7``, ``a,b,c``.

The current folder comes first in the search for modules, as for ``python -m``.

Audits of mechanisms and methods, spread over processes (``ldpsim audit``).

They are found by name, also those of other packages. ``noise`` is the stream of random numbers.
"""

from __future__ import annotations

import importlib
import inspect
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np

from ldpsim.curator.attacks.mechanism_audit import CONFIDENCE, TRIALS, AuditRow, Effort, audit_mechanism, check_effort
from ldpsim.curator.attacks.method_audit import audit_method
from ldpsim.curator.attacks.stream_audit import audit_stream
from ldpsim.curator.methods import Method
from ldpsim.curator.methods import table as methods
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.names import nearest
from ldpsim.devices.mechanisms import every as mechanisms
from ldpsim.devices.noise import NoiseStream
from ldpsim.strategies.attacks.campaign import run_cells
from ldpsim.strategies.experiments.cells import Failed
from ldpsim.strategies.experiments.compare import cells_of
from ldpsim.strategies.progress import NOTHING_KEPT, Progress, noted_if_interrupted, quiet
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import budget_of
from ldpsim.strategies.setup.settings import resolve

FORMS = "0:7, a,b,c, a JSON list, bits:8, floats:0,1,11 or module:function"
MOST_LISTED = 100_000
_BITS = 16
_NAMED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def is_named(text: str) -> bool:
    """Whether a text has the form module:function."""
    return bool(_NAMED.fullmatch(text))


def callable_named(text: str, option: str = "") -> Callable[..., Any]:
    """Return the callable that ``module:function`` names.

    Raises:
        ValueError: for a module that cannot be imported, or no callable of that name in it.
    """
    said = f"{option} {text}".strip()
    if not is_named(text):
        raise ValueError(f"{said}: the form is module:function")
    module, _, path = text.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"{said}: there is no module {error.name}") from error
    except Exception as error:
        raise ValueError(f"{said}: importing {module} raised {type(error).__name__}: {error}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{said}: {module} has no {path}")
        found = getattr(found, part)
    if not callable(found):
        raise ValueError(f"{said}: {path} is not callable")
    return found


def domain_of(text: str) -> list[Any]:
    """Return the values of ``--domain``, two or more, each once.

    Raises:
        ValueError: for a text of no known form, one value, or a value twice.

    >>> domain_of("1:3"), domain_of("yes,no"), domain_of("floats:0,1,3")
    ([1, 2, 3], ['yes', 'no'], [0.0, 0.5, 1.0])
    """
    try:
        values = _values(text.strip())
    except (TypeError, ValueError) as error:
        raise ValueError(f"--domain {text}: {error}") from error
    if len(values) < 2:
        raise ValueError(
            f"--domain {text}: {len(values)} value{'' if len(values) == 1 else 's'}; at least two are "
            "needed, because they are compared"
        )
    if len({repr(value) for value in values}) < len(values):
        raise ValueError(f"--domain {text}: a value is given twice")
    return values


def _values(text: str) -> list[Any]:
    if found := re.fullmatch(r"(-?\d+):(-?\d+)", text):
        low, high = map(int, found.groups())
        return list(islice(range(low, high + 1), MOST_LISTED))
    if found := re.fullmatch(r"bits:(\d+)", text):
        size = int(found[1])
        if not 1 <= size <= _BITS:
            raise ValueError(f"1 to {_BITS} bits can be listed; give module:function for others")
        return list(product((0, 1), repeat=size))
    if text.startswith("floats:"):
        parts = text.removeprefix("floats:").split(",")
        if len(parts) != 3:
            raise ValueError("the form is floats:LOW,HIGH,NUMBER")
        start, end, number = float(parts[0]), float(parts[1]), int(parts[2])
        if number > MOST_LISTED or not math.isfinite(end - start):
            raise ValueError(f"at most {MOST_LISTED:,} values between two finite numbers can be listed")
        return [float(value) for value in np.linspace(start, end, number)]
    if text.startswith("["):
        return list(json.loads(text))
    if is_named(text):
        given = callable_named(text)()
        if not isinstance(given, Iterable):
            raise ValueError("the function yields no values")
        return list(islice(given, MOST_LISTED))
    if ":" in text or not text:
        raise ValueError(f"the forms are {FORMS}")
    return _words([word.strip() for word in text.split(",")])


def _words(words: list[str]) -> list[Any]:
    """Return words as numbers where all of them are numbers."""
    for kind in (int, float):
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
