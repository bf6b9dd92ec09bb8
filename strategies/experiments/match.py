"""Solve for each method's budget at which the same loss holds at one level (``compare --match LEVEL X``).

Nothing runs and nobody is asked: a method computes the loss of its questions. The search
varies the method's epsilon in its own sense (lambda for an owner's methods) by doubling and
halving, and takes the largest value whose loss is at most X.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from scipy.optimize import brentq

from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.devices.data.population import Population
from ldpsim.strategies.results.levels_of_results import CLOSE, at_the_level, held
from ldpsim.strategies.results.numbers import IN_CLEAR
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.spent import guarantee_before
from ldpsim.strategies.setup.feature_share import CHOSEN
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import Setup

_NAMES = {"adjacency": "edges", "features": "features"}


_EXACT = 1e-9  # relative


_DOUBLINGS = 60


_FAR = 50.0  # on a logarithmic scale: no loss, or none that counts


@dataclass(frozen=True)
class Matched:
    """Options of a method with the budget that was found, or the reason why there is none.

    Args:
        options: With the budget if one was found, else as given.
        holds: Loss at the level with these options, None if it is not bounded.
        reason: Why the loss cannot be made equal, or only that of all that is reported; empty if it was.
        of_reports: Whether the loss of all that is reported was made equal, and public features are in clear.
    """

    options: RunOptions
    holds: float | None
    reason: str = ""
    of_reports: bool = False


@dataclass(frozen=True)
class Accounts:
    """Source of the figures that a search compares.

    Args:
        prepare: Checks options and makes the set-up of a run.
        before: Guarantee of a run, before anybody is asked.
        public: Attributes that may be public in a record: then the loss of its private rest is made equal.
    """

    prepare: Callable[[RunOptions], Setup]
    before: Callable[[Setup], Guarantee] = guarantee_before
    public: frozenset[str] = frozenset({"features"})


def match(options: RunOptions, population: Population, level: str, target: float) -> Matched:
    """Solve for the budget at which the loss that holds at ``level`` is ``target``.

    Args:
        options: Options of the run; the search starts at their epsilon.
        population: Its people.
        level: One of :func:`ldpsim.curator.privacy.levels.level_words`, as stored.
        target: The wanted loss, a finite number above 0.

    Raises:
        ValueError: for options that are wrong with any budget.
    """
    return match_by(Accounts(lambda run: prepare(run, population=population)), options, level, target)


def match_by(accounts: Accounts, options: RunOptions, level: str, target: float) -> Matched:
    """Solve as :func:`match` does, with figures of another source: of people who are not there, for example."""
    setup = accounts.prepare(options)
    if setup.settings.provenance.get("feature_share") == CHOSEN:
        return _with_chosen_share(accounts, setup, level, target)
    method = setup.method
    knob, start = "epsilon", setup.budget.epsilon
    if method.budget_parameter is not None:
        knob = method.budget_parameter[0]
        start = getattr(method, knob)

    def at(value: float) -> dict[str, Any]:
        return held(accounts.before(_with(setup, knob, value)).to_dict()["holds"], level)

    first, of, note = at(start), "value", ""
    if first["status"] != "bounded":
        # What is public leaves the whole person unprotected. Then the loss of all that is reported is made equal.
        if first["private_value"] is None or not accounts.public.issuperset(first["public"]):
            return Matched(options, None, _unbounded(first, level))
        of, names = "private_value", " and ".join(_NAMES[name] for name in first["public"])
        note = f"its {names} are public, and nothing protects them; what holds for all that is reported is {target:g}"
    solution = _solve(lambda value: float(at(value)[of]), start, target)
    if isinstance(solution, str):
        return Matched(options, first["value"], solution)
    value, loss = solution
    return Matched(_with(setup, knob, value).options, loss, note, of_reports=bool(note))


def _with_chosen_share(accounts: Accounts, setup: Setup, level: str, target: float) -> Matched:
    """Solve with the share of the present budget, then with the share of the budget that this gives, and keep it."""
    options = replace(setup.options, feature_share=setup.budget.feature_share)
    solution = match_by(accounts, options, level, target)
    if solution.reason:
        return replace(solution, options=setup.options)
    there = accounts.prepare(replace(solution.options, feature_share=setup.options.feature_share))
    return match_by(accounts, replace(options, feature_share=there.budget.feature_share), level, target)


def _with(setup: Setup, knob: str, value: float) -> Setup:
    """Return the set-up with another budget; the population is not loaded again."""
    if knob == "epsilon":
        return replace(
            setup, options=replace(setup.options, epsilon=value), budget=replace(setup.budget, epsilon=value)
        )
    settings: Mapping[str, str] = {**setup.options.settings, knob: repr(value)}
    method = replace(setup.method, **{knob: value})  # type: ignore[type-var]
    return replace(setup, options=replace(setup.options, settings=settings),
                   settings=replace(setup.settings, method=method))  # fmt: skip


def _unbounded(entry: Mapping[str, Any], level: str) -> str:
    detail = f": {entry['detail']}" if entry["detail"] else ""
    if entry["status"] == "not asked":
        return f"nothing is asked {at_the_level(level)}{detail}"
    return f"{IN_CLEAR} {at_the_level(level)}{detail}"


def _solve(loss: Callable[[float], float], start: float, target: float) -> tuple[float, float] | str:
    """Return the largest budget whose loss is at most ``target`` and that loss, or the reason why there is none.

    ``loss`` must not fall when the budget rises. A ValueError of ``loss`` means that a mechanism
    cannot have this budget; it ends the search in that direction.
    """
    complaint, best = "", (0.0, 0.0)

    def excess(budget: float) -> float:
        """Return how far the loss is above the target, on a logarithmic scale; infinite where there is none."""
        nonlocal complaint, best
        try:
            value = loss(budget)
        except ValueError as error:
            complaint = f" ({error})"
            return _FAR
        if value <= target:
            best = max(best, (budget, value))
        return math.log(max(value, target * math.exp(-_FAR)) / target) + _EXACT / 2

    place, above = start, excess(start)
    for _ in range(_DOUBLINGS):
        if best[0]:
            break
        place, above = place / 2, excess(place / 2)
    if not best[0]:
        return f"no budget gives it{complaint or ': its loss does not depend on the budget'}"
    place *= 2
    above = excess(place)
    for _ in range(_DOUBLINGS):
        if above > 0:
            break
        place, above = place * 2, excess(place * 2)
    if above > 0 and best[1] < target * (1 - _EXACT):
        brentq(lambda log: excess(math.exp(log)), math.log(best[0]), math.log(place), xtol=_EXACT, disp=False)
    if best[1] < target * (1 - CLOSE):
        return f"no budget gives it: the most that it loses below {target:g} is {best[1]:.4g}{complaint}"
    return best
