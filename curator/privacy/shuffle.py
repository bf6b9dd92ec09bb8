"""Central epsilon of reports that a shuffler strips of names and mixes: three accountants, and what each one is.

n people report at a local epsilon; the curator sees the multiset of their reports. One person's value is replaced. Each
accountant compares how often a and b, the two values, are reported among m reports:

    delta(eps) = E[(x A + y B + z (m - A - B))+] / m,    (A, B, m - A - B) ~ Multinomial(m; r, r, 1 - 2 r),
    x = (u - e^eps v) / r,    y = (v - e^eps u) / r,    z = (1 - e^eps)(1 - u - v) / (1 - 2 r),

where the person reports a and b with probability u and v, or v and u.

- :func:`shuffled_epsilon`, whatever the randomisers (Feldman, McMillan and Talwar 2021): any other person's report is
  a clone of one of both with probability e^-local. Given C clones, m = C + 1, r = 1/2 and
  u = 1 - v = e^local / (1 + e^local). **An upper bound.**
- :func:`shuffled_grr_epsilon`, GRR over k values: with probability k / (e^local + k - 1) another report is a uniform
  draw (the privacy blanket of Balle, Bell, Gascon and Nissim 2019). Given C of them, m = C + 1, r = 1/k and
  v = 1 / (e^local + k - 1) = u / e^local. **An upper bound.**
- :func:`variation_ratio_epsilon`, GRR over k values as Wang et al. 2024 have it: the same u and v, m = n, r = v. It is
  published as an upper bound and **is none**: two people, k = 3, local 1, the other one holds a: at epsilon .9 the true
  delta is .0316, theirs .0116. With k >= 3 it is what the counts of a and b show where everybody else holds a third
  value, so the true figure is never below it: **a lower bound**.

C is binomial; delta falls with C, so a block of values of C counts by its smallest. What is left out at the ends counts
in full.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import bdtrc
from scipy.stats import binom

from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.mechanisms import round_up

_BLOCKS = {2: 4096}  # of the number of clones, by categories; 64 for more: epsilon is then above by 1 part in 300
_TAIL = 1e-16  # probability that is left out at each end


def shuffled_epsilon(*, people: int, local: float, delta: float) -> float:
    """Return the epsilon at ``delta`` of shuffled reports, each of any randomiser of loss ``local``; an upper bound.

    Args:
        people: Number of people who report, 1 or more.
        local: Epsilon of one report.
        delta: Above 0 and below 1.

    Raises:
        ValueError: for numbers outside their range.
    """
    return _least(lambda epsilon: _with_clones(epsilon, people, local, 2, math.exp(-local)), people, local, delta)


def shuffled_grr_epsilon(*, people: int, local: float, categories: int, delta: float) -> float:
    """Return the epsilon at ``delta`` of shuffled reports of GRR; an upper bound.

    Args:
        people, local, delta: As :func:`shuffled_epsilon`.
        categories: Number of values, 2 or more.
    """
    blanket = categories / (math.exp(local) + categories - 1)
    return _least(lambda epsilon: _with_clones(epsilon, people, local, categories, blanket), people, local, delta)


def variation_ratio_epsilon(*, people: int, local: float, categories: int, delta: float) -> float:
    """Return the epsilon at ``delta`` that Wang et al. 2024 print for GRR: a lower bound for three values or more.

    Args:
        people, local, categories, delta: As :func:`shuffled_grr_epsilon`.
    """
    v = 1 / (math.exp(local) + categories - 1)

    def printed(epsilon: float) -> float:
        return float(_delta(epsilon, np.array([people]), v, math.exp(local) * v, v)[0])

    return _least(printed, people, local, delta)


def _check(people: int, local: float, delta: float) -> None:
    if people < 1 or not 0 < local <= 30 or not 0 < delta < 1:
        raise ValueError(f"{people} people, local epsilon {local:g}, delta {delta:g}: no figures of a shuffler")


@lru_cache(maxsize=64)
def _range(trials: int, chance: float) -> tuple[int, int]:
    """Return the smallest and the largest number of successes outside of which next to nothing is."""
    low, high = (int(binom.ppf(_TAIL, trials, each)) for each in (chance, 1 - chance))  # isf has no digits there
    return max(0, low), trials - max(0, high)


def _least(deltas: Callable[[float], float], people: int, local: float, delta: float) -> float:
    _check(people, local, delta)
    low, high = 0.0, local
    if deltas(0.0) <= delta:
        return 0.0
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if deltas(middle) <= delta else (middle, high)
    return round_up(high)


def _with_clones(epsilon: float, people: int, local: float, categories: int, chance: float) -> float:
    """Return delta, averaged over the number of clones among the others."""
    low, high = _range(people - 1, chance)
    starts = np.unique(
        np.linspace(low, high + 1, min(_BLOCKS.get(categories, 64), high - low + 1) + 1).astype(np.int64)
    )
    weights = np.add.reduceat(binom.pmf(np.arange(low, high + 1), people - 1, chance), starts[:-1] - low)
    v = 1 / (math.exp(local) + categories - 1)
    each = _delta(epsilon, starts[:-1] + 1, 1 / categories, math.exp(local) * v, v)
    return float(weights @ each) + 2 * _TAIL


def _delta(epsilon: float, trials: IntArray, r: float, u: float, v: float) -> DoubleArray:
    """float64 (trials,): delta of the counts, by the exact distribution of A given A + B, and then of A + B."""
    level, most = math.exp(epsilon), int(trials.max())
    rest, left = 1 - 2 * r, 1 - u - v
    x, y = (u - level * v) / r, (v - level * u) / r
    z = (1 - level) * left / rest if rest > 1e-12 else 0.0
    lows, highs = zip(*(_range(int(m), 2 * r) if rest > 1e-12 else (int(m), int(m)) for m in trials), strict=True)
    width = max(high - low for low, high in zip(lows, highs, strict=True)) + 1
    m = trials[:, None].astype(np.float64)
    both = np.minimum(np.array(lows)[:, None] + np.arange(width), most)  # A + B
    inside = both <= np.array(highs)[:, None]
    constant = y * both + z * (m - both)
    above = np.floor(-constant / (x - y))  # A must exceed it
    weight = np.where(inside, binom.pmf(both, m, 2 * r) if rest > 1e-12 else 1.0, 0.0)
    gain = (x - y) * both / 2 * _exceeds(above - 1, both - 1) + constant * _exceeds(above, both)
    return np.asarray((weight * gain).sum(axis=1) / trials + 2 * _TAIL * max(x, y, z, 0.0))


def _exceeds(k: DoubleArray, trials: DoubleArray) -> DoubleArray:
    """Pr[Bin(trials, 1/2) > k]; 1 for k below 0, 0 from ``trials`` on."""
    inner = np.clip(k, 0, np.maximum(trials - 1, 0))
    found = bdtrc(inner, np.maximum(trials, 1), 0.5)
    return np.asarray(np.where(k < 0, 1.0, np.where(k >= trials, 0.0, found)))
