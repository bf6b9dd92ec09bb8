"""Make what *holds* at one level equal: each method's budget, solved for (``compare --match LEVEL X``).

Nothing is run and nobody is asked: a method says what its questions would lose. Its
knob, epsilon in its own sense (lambda for an owner's methods), is searched for by
doubling and halving, and the largest value whose loss is at most X is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from curator.methods import Reference
from curator.methods.owner.owner import Answers, OwnerMethod
from curator.privacy.guarantee import Guarantee
from devices.data.population import Population
from devices.data.splits import make_split
from strategies.people.private_and_public import divide
from strategies.results.levels import CLOSE, held
from strategies.setup.options import RunOptions
from strategies.setup.run_setup import Plan, plan_run

_EXACT = 1e-9  # relative
_PATIENCE = 12  # evaluations after which a thousandth below is near enough: an accountant takes seconds
_DOUBLINGS = 60


@dataclass(frozen=True)
class Matched:
    """A method's options with the budget that was solved for, or why there is none.

    Args:
        options: With the budget where it could be solved, else as given.
        holds: The loss at the level with these options, None where it is not bounded.
        reason: Why it cannot be made equal; empty where it was.
    """

    options: RunOptions
    holds: float | None
    reason: str = ""


def guarantee_before(plan: Plan) -> Guarantee:
    """Return what a run will guarantee, from its questions alone.

    Raises:
        ValueError: for parameters that do not fit these people.
    """
    method, population = plan.settings.method, plan.population
    if isinstance(method, Answers):
        division = divide(population, plan.options.seeds_of(0).split)
        return method.guarantee_of(method.account(len(division.private), population.facts.classes))
    if isinstance(method, (Reference, OwnerMethod)):
        return method.guarantee(population.facts, (), plan.budget)
    split = make_split(plan.options.split, population, plan.options.seeds_of(0).split, plan.options.label_rate)
    after: Any = getattr(method, "guarantee_after", None)
    if after is not None:  # noise on a trained model: how much it hides depends on how many train
        people = len(split.train)
        multiplier = method.multiplier(people, plan.budget)  # type: ignore[attr-defined]
        return cast(Guarantee, after(people, method.rounds, multiplier))  # type: ignore[attr-defined]
    questions = method.questions(population.facts, split, plan.budget, "check")
    return method.guarantee(population.facts, questions, plan.budget)


def match(options: RunOptions, population: Population, level: str, target: float) -> Matched:
    """Solve for the budget at which the loss that holds at ``level`` is ``target``.

    Args:
        options: The run; what it gives for epsilon is where the search starts.
        population: Its people.
        level: One of :data:`strategies.results.levels.LEVELS`.
        target: The loss wanted, a finite number above 0.

    Raises:
        ValueError: for options that make no sense whatever the budget.
    """
    plan = plan_run(options, population=population)
    knob = _knob(plan)

    def at(value: float) -> dict[str, Any]:
        return held(guarantee_before(_with(plan, knob, value)).to_dict()["holds"], level)

    start = _start(plan)
    first = at(start)
    if first["status"] != "bounded":
        return Matched(options, None, _unbounded(first, level))
    found = _solve(lambda value: float(at(value)["value"]), start, target)
    if isinstance(found, str):
        return Matched(options, first["value"], found)
    value, loss = found
    return Matched(_with(plan, knob, value).options, loss)


def _knob(plan: Plan) -> str:
    return "lambda_" if isinstance(plan.settings.method, Answers) else "epsilon"


def _start(plan: Plan) -> float:
    method = plan.settings.method
    return method.lambda_ if isinstance(method, Answers) else plan.budget.epsilon


def _with(plan: Plan, knob: str, value: float) -> Plan:
    """The plan with another budget; the population is not looked at again."""
    if knob == "epsilon":
        return replace(plan, options=replace(plan.options, epsilon=value), budget=replace(plan.budget, epsilon=value))
    settings: Mapping[str, str] = {**plan.options.settings, knob: repr(value)}
    method = replace(plan.settings.method, **{knob: value})  # type: ignore[type-var]
    return replace(plan, options=replace(plan.options, settings=settings),
                   settings=replace(plan.settings, method=method))  # fmt: skip


def _unbounded(entry: Mapping[str, Any], level: str) -> str:
    detail = f": {entry['detail']}" if entry["detail"] else ""
    if entry["status"] == "not asked":
        return f"nothing is asked at the level {level.replace('_', ' ')}{detail}"
    return f"unprotected at the level {level.replace('_', ' ')}{detail}"


def _solve(loss: Callable[[float], float], start: float, target: float) -> tuple[float, float] | str:
    """Return the largest budget whose loss is at most ``target``, with that loss, or why there is none.

    ``loss`` must not fall when the budget rises; a ValueError says that a mechanism cannot be
    as weak or as strong as that, which ends the search on its side.
    """
    complaint = ""

    def at(budget: float) -> float | None:
        nonlocal complaint
        try:
            return loss(budget)
        except ValueError as error:
            complaint = f" ({error})"
            return None

    best = high = start
    below = above = at(start)
    for _ in range(_DOUBLINGS):
        if below is None or below <= target:
            break
        best, high, above = best / 2, best, below
        below = at(best)
    if below is None or below > target:
        return f"no budget gives it{complaint or ': its loss does not depend on the budget'}"
    for _ in range(_DOUBLINGS):
        if above is None or above > target:
            break
        best, below, high = high, above, high * 2
        above = at(high)
    aim, step = target * (1 - _EXACT / 2), 0
    while high / best > 1 + _EXACT and below < target * (1 - _EXACT):
        middle, step = math.sqrt(best * high), step + 1
        if step % 2 and above is not None and below > 0:  # straight on logarithmic axes, as most losses nearly are
            share = math.log(aim / below) / math.log(above / below)
            middle = best * (high / best) ** min(max(share, 1e-12), 1 - 1e-12)
        found = at(middle)
        if found is not None and found <= target:
            best, below = middle, found
        else:
            high, above = middle, found
        if step >= _PATIENCE and below >= target * (1 - CLOSE / 10):
            break
    if below < target * (1 - CLOSE):
        return f"no budget gives it: the most that it loses below {target:g} is {below:.4g}{complaint}"
    return best, below


__all__ = ["Matched", "guarantee_before", "match"]
