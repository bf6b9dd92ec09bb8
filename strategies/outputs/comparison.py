"""A comparison in a sentence: the best method at an equal loss, and the gain of asking there.

The terminal and the page of a comparison say it; the figures are those of the groups
(:mod:`ldpsim.strategies.outputs.groups`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.special import ndtri, stdtrit

from ldpsim.curator.privacy.levels import LEVELS, level_term, level_word, parts_of
from ldpsim.strategies.outputs.groups import Group
from ldpsim.strategies.results.averages import TAIL, Interval, over_people, share_interval
from ldpsim.strategies.results.levels_of_results import CLOSE, compared_loss, shown_levels
from ldpsim.strategies.results.numbers import epsilon, points
from ldpsim.strategies.results.verdict import gains_of

_SAME = 1e-6  # relative: losses that differ by rounding only are equal


@dataclass(frozen=True)
class Finding:
    """The sentence on a comparison.

    Args:
        text: One or two sentences, with backquotes around commands.
        equal: Whether the methods have the same loss at a level.
        unmatched: (method, reason) for methods that cannot have the loss of ``--match``.
    """

    text: str
    equal: bool
    unmatched: Sequence[tuple[str, str]] = ()


def finding(groups: Sequence[Group], match: Mapping[str, Any] | None) -> Finding:
    """Return what the results show.

    Args:
        groups: The results.
        match: ``level``, ``target`` and ``unmatched`` of a comparison, None without ``--match``.
    """
    protecting = [group for group in groups if group.records[0]["privacy"]["trust"] != "none"]
    if len(groups) == 1:
        return Finding(_sentence(_gain(groups[0])) or "One configuration: there is nothing to compare it with.", True)
    if match is None:
        level, target = _equal_level(protecting)
        equal = protecting if level else []
    else:
        level, target = match["level"], match["target"]
        equal = [group for group in protecting if _holds(group, level, target)]
    if not level:
        return Finding(_not_equal(protecting), False)
    unmatched = [] if match is None else [
        (group.label, match["unmatched"].get(group.method, "it was not solved for"))
        for group in protecting if group not in equal
    ]  # fmt: skip
    several = len({group.data for group in groups}) > 1
    texts = [_at_equal_loss([group for group in equal if group.data == data], level, target, several)
             for data in dict.fromkeys(group.data for group in groups)]  # fmt: skip
    text = " ".join(filter(None, texts))
    if match is not None and not text:
        text = f"No two methods have an epsilon of {target:g} for {level_term(level)}."
    return Finding(text, not unmatched, unmatched)


def _equal_level(groups: Sequence[Group]) -> tuple[str, float]:
    """Return the first level at which two groups or more all have one loss, and that loss; no level without one."""
    for level in sorted(shown_levels(), key=lambda name: LEVELS[parts_of(name)[0]].rank or 0):
        losses = [compared_loss(group.levels[level]) for group in groups if group.levels[level]["status"] == "bounded"]
        if len(losses) == len(groups) > 1 and max(losses) - min(losses) <= _SAME * max(losses):
            return level, max(losses)
    return "", 0.0


def _at_equal_loss(groups: Sequence[Group], level: str, loss: float, several_data: bool) -> str:
    """Return the best method of one data set, how far it is above the next one, and what asking gains with it."""
    known = sorted((group for group in groups if group.mean is not None), key=lambda group: -(group.mean or 0.0))
    if len(known) < 2:
        return ""
    best, second = known[0], known[1]
    where = f" on {best.data[0]}" if several_data else ""
    apart, least = (best.mean or 0.0) - (second.mean or 0.0), smallest_difference(best, second)
    if apart > least:
        words = f"{best.label} is {points(apart)} points above the next method, {second.label}"
    else:
        words = (f"{best.label} is {points(apart)} points above {second.label}, which is not measurable "
                 f"(less than {points(least)})")  # fmt: skip
    gain = f" With {best.label}, {_gain(best)}." if _gain(best) else ""
    return f"At equal epsilon for {level_term(level)} ({epsilon(loss)}){where}, {words}.{gain}"


def _gain(group: Group) -> str:
    return gains_of(group.verdict, group.nulls) if group.verdict else ""


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}." if words else ""


def _not_equal(groups: Sequence[Group]) -> str:
    """Return the losses of the methods in a sentence, and the option that makes them equal."""
    name = next(iter(shown_levels(1)))
    bounded = {group.label: compared_loss(group.levels[name]) for group in groups
               if group.levels[name]["status"] == "bounded"}  # fmt: skip
    if not bounded:
        return "No method bounds the loss of a person, so accuracy alone does not rank them."
    least, most = min(bounded, key=bounded.__getitem__), max(bounded, key=bounded.__getitem__)
    losses = f"for {level_term(name)} {epsilon(bounded[least])} ({least})"
    losses += f" to {epsilon(bounded[most])} ({most})" if bounded[most] > bounded[least] else ""
    return (
        f"Epsilons differ, {losses}, so accuracy alone does not rank the methods: "
        f"`--match {level_word(name)} {bounded[least]:g}` makes them equal."
    )


def smallest_difference(one: Group, other: Group) -> float:
    """Return the difference of two accuracies that chance exceeds in 5 % of cases, with independent errors.

    The standard error of a mean is over its scores, and of one score over its test people.
    """
    errors, freedom = [_error(group) for group in (one, other)], min(one.row["n"], other.row["n"]) - 1
    quantile = -float(stdtrit(freedom, TAIL)) if freedom > 0 else -float(ndtri(TAIL))
    return quantile * math.hypot(*errors)


def _error(group: Group) -> float:
    n, test = group.row["n"], group.records[0]["dataset"]["split"].get("test") or 1
    mean = min(max(group.mean or 0.0, 0.0), 1.0)
    return float(group.row["sd"] / math.sqrt(n)) if n > 1 else math.sqrt(mean * (1 - mean) / test)


def _holds(group: Group, level: str, target: float) -> bool:
    entry = group.levels[level]
    return entry["status"] == "bounded" and target * (1 - CLOSE) <= compared_loss(entry) <= target * (1 + _SAME)


def accuracy_interval(group: Group) -> Interval | None:
    """Return the 95 % interval of an accuracy: Student's over three scores or more, else Wilson's over people."""
    n, test, mean = group.row["n"], group.records[0]["dataset"]["split"].get("test"), group.mean
    if mean is None:
        return None
    if not over_people(n):
        half = -float(stdtrit(n - 1, TAIL)) * group.row["sd"] / math.sqrt(n)
        return Interval(mean, max(mean - half, 0.0), min(mean + half, 1.0))
    return share_interval(round(min(max(mean, 0.0), 1.0) * test), test) if test else None


def columns_of_devices(groups: Sequence[Group]) -> str:
    """Return a note on figures that are a device's own; empty where all are the curator's."""
    devices = [group.label for group in groups if group.of_devices]
    if not devices:
        return ""
    return (
        "Compare within a column: the curator's figure is what it learns of a person; a device's figure is made with "
        f"the person's own data, which nobody else has. Device figures only: {', '.join(devices)}."
    )
