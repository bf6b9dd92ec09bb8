"""Laws of textbook randomisers, written from their definitions and not from a library's code."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations, product
from typing import Any

Law = Callable[[Any], dict[Any, float]]


def grr(k: int, epsilon: float) -> Law:
    """Return the law of generalised randomised response over 0 to k - 1."""
    q = 1 / (math.exp(epsilon) + k - 1)
    return lambda value: {report: math.exp(epsilon) * q if report == value else q for report in range(k)}


def bits(marked: Callable[[Any], Sequence[int]], size: int, p: float, q: float) -> Law:
    """Return the law of independent bits: a marked place is 1 with probability p, any other with probability q."""

    def law(value: Any) -> dict[Any, float]:
        ones = [p if place in marked(value) else q for place in range(size)]
        return {
            report: math.prod(one if bit else 1 - one for bit, one in zip(report, ones, strict=True))
            for report in product((0, 1), repeat=size)
        }

    return law


def unary(k: int, epsilon: float, *, optimal: bool) -> Law:
    """Return the law of symmetric or optimised unary encoding."""
    half = math.exp(epsilon / 2)
    p, q = (0.5, 1 / (math.exp(epsilon) + 1)) if optimal else (half / (half + 1), 1 / (half + 1))
    return bits(lambda value: [value], k, p, q)


def subset(k: int, epsilon: float) -> Law:
    """Return the law of subset selection; reports are frozensets."""
    size = int(max(1, round(k / (math.exp(epsilon) + 1))))
    weight = size * math.exp(epsilon)
    inside = weight / (weight + k - size)
    counts = math.comb(k - 1, size - 1), math.comb(k - 1, size)
    return lambda value: {
        frozenset(chosen): inside / counts[0] if value in chosen else (1 - inside) / counts[1]
        for chosen in combinations(range(k), size)
    }


def sampled(truth: Law, fake: dict[Any, float], attributes: int) -> Law:
    """Return the law of RS+FD: one attribute of a record, drawn at random, is told, the others are fakes.

    Args:
        truth: Law of the report of one attribute.
        fake: Report -> probability, of an attribute that is not told.
        attributes: Number of attributes.
    """

    def law(record: Any) -> dict[Any, float]:
        chances = [truth(value) for value in record]
        return {
            report: sum(
                math.prod(chances[at][part] if at == place else fake[part] for at, part in enumerate(report))
                for place in range(attributes)
            )
            / attributes
            for report in product(fake, repeat=attributes)
        }

    return law


def average(law: Law, values: Sequence[Any]) -> dict[Any, float]:
    """Return report -> probability for a value that is drawn uniformly."""
    laws = [law(value) for value in values]
    return {report: sum(one[report] for one in laws) / len(laws) for report in laws[0]}


def mixed(laws: Sequence[Law]) -> Law:
    """Return the law of a report beside the number of the law that made it, each equally likely."""
    return lambda value: {
        (report, number): chance / len(laws) for number, law in enumerate(laws) for report, chance in law(value).items()
    }
