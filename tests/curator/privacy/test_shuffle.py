"""Accountants of a shuffler: published figures, every outcome of few people, and a published bound that is none."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from ldpsim.curator.privacy.shuffle import (
    shuffled_epsilon,
    shuffled_grr_epsilon,
    variation_ratio_epsilon,
)

CLOSE = 1e-5
README: dict[str, Any] = {"people": 100_000, "local": 4.0, "delta": 1e-6}  # of apple/ml-shuffling-amplification


def clones_closed_form(*, people: int, local: float, delta: float) -> float:
    """Return the closed form of Feldman, McMillan and Talwar 2021 (Theorem 3.1); an upper bound.

    It holds for a local epsilon up to ln(n / (16 ln(4 / delta))).
    """
    spread, power = math.log(4 / delta), math.exp(local)
    gain = 8 * math.sqrt(power * spread / people) + 8 * power / people
    return math.log1p((1 - 1 / power) / (1 + 1 / (power * (1 + gain))) * gain)


def test_the_clones_are_below_the_published_closed_form() -> None:
    assert clones_closed_form(**README) == pytest.approx(0.5378040242374512, abs=1e-9)
    for people, local, delta in itertools.product((10_000, 1_000_000), (0.5, 2.0), (1e-6, 1e-3)):
        given = {"people": people, "local": local, "delta": delta}
        assert local <= math.log(people / (16 * math.log(4 / delta)))
        assert shuffled_epsilon(**given) < clones_closed_form(**given)


def published(ends: str, bisections: int = 10) -> float:
    """Return what the published program computes in steps of 100 clones.

    Args:
        ends: ``lower`` for its lower bound; ``printed`` for its upper bound, which takes in one of two directions the
            loss at the upper end of a step for the larger one; ``mended`` for the larger one in both. Both hold: the
            directions are mirror images, and the comparison only moves the place where the loop stops.
        bisections: Their number.
    """
    n, local, delta, step = README["people"], README["local"], README["delta"], 100
    p, alpha = math.exp(-local), math.exp(local) / (1 + math.exp(local))

    def one(c: int, epsilon: float, *, forward: bool) -> float:
        level = math.exp(epsilon)
        beta = ((1 + level) * alpha - level) / (((1 + level) * alpha - 1) + ((1 + level) * alpha - level))
        cut = (beta if forward else 1 - beta) * (c + 1)
        same, next_ = binom.cdf(cut, c, 0.5), binom.cdf(cut - 1, c, 0.5)
        first, second = alpha * same + (1 - alpha) * next_, (1 - alpha) * same + alpha * next_
        return float(first - level * second if forward else (1 - second) - level * (1 - first))

    def delta_at(epsilon: float) -> float:
        there, back, used = 0.0, 0.0, 0.0
        for block, side in itertools.product(range(1, 1000), (0, 1)):
            if max(there, back) > delta:
                return delta
            if 1 - used < min(there, back):
                return max(there, back) + (0.0 if ends == "lower" else 1 - used)
            middle = math.ceil((n - 1) * p + (block if side == 0 else -block) * step)
            low, high = (middle - step + (block > 1), middle) if side == 0 else (middle, middle + step - 1)
            low, high = max(0, low), min(high, n - 1)
            mass = binom.cdf(high, n - 1, p) - binom.cdf(low - 1, n - 1, p)
            worst = min if ends == "lower" else max
            there += mass * worst(one(high, epsilon, forward=True), one(low, epsilon, forward=True))
            low_back = high if ends == "printed" else low
            back += mass * worst(one(high, epsilon, forward=False), one(low_back, epsilon, forward=False))
            used += mass
        return max(there, back)

    low, high = 0.0, clones_closed_form(**README)
    for _ in range(bisections):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(middle) < delta else (middle, high)
    return high


def test_the_clones_lie_between_the_published_bounds() -> None:
    """The published program has .16754 and .17279 (its README); its upper one, mended and finely bisected, is .1751."""
    lower, printed, mended = published("lower"), published("printed"), published("mended", 20)
    assert lower == pytest.approx(0.1675385583317841, abs=1e-9)
    assert printed == pytest.approx(0.172790550755978, abs=1e-9)
    assert mended == pytest.approx(0.1751, abs=5e-5)
    assert lower < shuffled_epsilon(**README) < printed < mended


def test_the_clones_by_the_sum_over_every_number_of_them() -> None:
    """No blocks, no tails left out: A is Bin(C, 1/2), moved by one in one of two places."""
    n, local, delta = 2_000, 2.0, 1e-5
    found = shuffled_epsilon(people=n, local=local, delta=delta)
    t = math.exp(local) / (1 + math.exp(local))

    def total(epsilon: float) -> float:
        sums = 0.0
        for c, weight in enumerate(binom.pmf(np.arange(n), n - 1, math.exp(-local))):
            if weight > 1e-14:
                a = np.arange(c + 2)
                moved, stays = binom.pmf(a - 1, c, 0.5), binom.pmf(a, c, 0.5)
                one, other = t * moved + (1 - t) * stays, (1 - t) * moved + t * stays
                sums += weight * np.maximum(one - math.exp(epsilon) * other, 0).sum()
        return sums

    assert total(found) <= delta < total(found * 0.998)


def histograms(local: float, categories: int, values: list[int]) -> dict[tuple[int, ...], float]:
    """Return the probability of each histogram of reports of people with these values, by GRR."""
    law = {(0,) * categories: 1.0}
    for value in values:
        chances = np.exp(local * (np.arange(categories) == value))
        after: dict[tuple[int, ...], float] = {}
        for counts, probability in law.items():
            for place, chance in enumerate(chances / chances.sum()):
                key = tuple(count + (each == place) for each, count in enumerate(counts))
                after[key] = after.get(key, 0.0) + probability * float(chance)
        law = after
    return law


def true_delta(local: float, categories: int, people: int, epsilon: float) -> float:
    """Return the largest delta over all values that the others may hold."""
    worst = 0.0
    for others in itertools.combinations_with_replacement(range(categories), people - 1):
        one, other = (histograms(local, categories, [value, *others]) for value in (0, 1))
        worst = max(worst, sum(max(0.0, one[key] - math.exp(epsilon) * other[key]) for key in one))
    return worst


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("local, categories, people", [(1.0, 2, 4), (1.0, 3, 4), (2.0, 3, 5), (1.0, 4, 5), (2.0, 7, 3)])
def test_every_histogram_of_few_people_is_within_the_upper_bounds(
    local: float, categories: int, people: int, epsilon: float
) -> None:
    delta = true_delta(local, categories, people, epsilon)
    assert shuffled_grr_epsilon(people=people, local=local, categories=categories, delta=delta) >= epsilon - CLOSE
    assert shuffled_epsilon(people=people, local=local, delta=delta) >= epsilon - CLOSE
    if categories > 2:
        printed = variation_ratio_epsilon(people=people, local=local, categories=categories, delta=delta)
        assert printed <= epsilon + CLOSE  # never above what is true


def test_the_printed_bound_of_two_people_is_below_what_is_true() -> None:
    """By hand: both report a with probability (e / (e + 2))^2 = .3319, or .1221 after the change: a ratio of e."""
    e, epsilon = math.e, 0.9
    both = (e / (e + 2)) ** 2 * (1 - math.exp(epsilon - 1))
    assert both == pytest.approx(0.031585, abs=1e-6) and both == pytest.approx(true_delta(1.0, 3, 2, epsilon))
    setting: dict[str, Any] = {"people": 2, "local": 1.0, "categories": 3, "delta": both}
    assert variation_ratio_epsilon(**setting) < 0.8
    assert shuffled_grr_epsilon(**setting) == pytest.approx(epsilon, abs=CLOSE)


@pytest.mark.parametrize("local, seen", [(1.0, 0.0334), (2.0, 0.1191), (4.0, 0.5762)])
def test_the_program_of_wang_et_al_prints_these(local: float, seen: float) -> None:
    """Its bisection of twelve steps rounds up to multiples of local / 2^12; the blanket is just above it."""
    setting: dict[str, Any] = {"people": 2_708, "local": local, "categories": 7, "delta": 1e-4}
    printed, unit = variation_ratio_epsilon(**setting), local / 2**12
    assert math.ceil(printed / unit) * unit == pytest.approx(seen, abs=6e-5)
    assert printed < shuffled_grr_epsilon(**setting) < 1.004 * printed
    assert 1.5 * printed < shuffled_epsilon(people=2_708, local=local, delta=1e-4)


@pytest.mark.parametrize("wrong", [{"people": 0}, {"local": 0.0}, {"delta": 0.0}, {"local": math.inf}, {"delta": 1.0}])
def test_impossible_numbers_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="no figures of a shuffler"):
        shuffled_epsilon(**{"people": 10, "local": 1.0, "delta": 0.1, **wrong})  # type: ignore[arg-type]


def test_more_delta_than_the_reports_show_costs_nothing() -> None:
    assert shuffled_grr_epsilon(people=1_000, local=0.1, categories=5, delta=0.5) == 0
