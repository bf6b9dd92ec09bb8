"""Lower bounds from trials: right as often as they say, and as high as published."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from ldpsim.curator.attacks.bounds import bound_of_counts, clopper_pearson, lower_bound


@pytest.mark.parametrize("error", [0.05, 1e-3])
def test_limits_miss_no_more_often_than_they_may(error: float) -> None:
    """Exact: the chance of every count at every probability of a grid."""
    trials = 40
    limits = [clopper_pearson(hits, trials, error) for hits in range(trials + 1)]
    for p in np.linspace(0.01, 0.99, 41):
        chance = binom.pmf(np.arange(trials + 1), trials, p)
        assert sum(c for c, (low, _) in zip(chance, limits, strict=True) if low > p) <= error
        assert sum(c for c, (_, high) in zip(chance, limits, strict=True) if high < p) <= error


@pytest.mark.parametrize(("trials", "published"), [(10**4, 0.926), (10**5, 0.977), (10**6, 0.993)])
def test_as_high_as_published(trials: int, published: float) -> None:
    """Randomised response at epsilon 1 and 99.9 % confidence, counts as expected."""
    p = 1 / (1 + math.e)
    found = bound_of_counts(round((1 - p) * trials), round(p * trials), (trials, trials), error=1e-3)
    assert published - 0.01 < found < 1


def test_reports_give_a_bound_below_the_loss_and_near_it() -> None:
    rng = np.random.default_rng(0)
    p = 1 / (1 + math.exp(2))
    one, other = (list(rng.random(40_000) < q) for q in (1 - p, p))
    assert 1.7 < lower_bound(one, other, error=1e-6) < 2
    assert lower_bound(one, one, error=1e-6) == 0.0
    # what never happens on one side is bounded by the trials alone
    assert 5 < lower_bound(["a"] * 4000, ["b"] * 4000, error=1e-6) < math.log(4000)
    assert lower_bound(one, other, error=1e-6, delta=0.5) < lower_bound(one, other, error=1e-6)


def test_false_alarms() -> None:
    """At an error of 5 %, 300 bounds on a loss of 1: the expected number above it is 15 at most; 40 has chance 1e-7."""
    rng = np.random.default_rng(5)
    p = 1 / (1 + math.e)
    above = 0
    for _ in range(300):
        one, other = (rng.random(400) < q for q in (1 - p, p))
        above += lower_bound(one.tolist(), other.tolist(), error=0.05) > 1
    assert above < 40
