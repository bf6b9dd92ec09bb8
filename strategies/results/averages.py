"""Mean and spread over repeats, and the 95 % interval of a difference between two models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtrit

from ldpsim.strategies.results.outcome import Score

_DRAWS, _JOINT_DRAWS, _SEED = 2000, 20_000, 20260
TAIL = 0.025
FEWEST = 3  # repeats or runs over which an interval is made; fewer have one over people alone
_ENOUGH = 5  # repeats whose spread says by itself how sure their mean is


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are there; None without one."""
    figures = [value for value in values if value is not None]
    return float(np.mean(figures)) if figures else None


def spread(values: Sequence[float | None]) -> float | None:
    """Return the sample standard deviation; None for one figure."""
    figures = [value for value in values if value is not None]
    return float(np.std(figures, ddof=1)) if len(figures) > 1 else None


@dataclass(frozen=True)
class Interval:
    """A difference of accuracies with its 95 % interval, as fractions."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Margin:
    """Difference to the best one of several models.

    Args:
        best: Name of the model with the highest mean.
        interval: The difference, and its 95 % interval.
        upper_tail: Chance that the difference to one model is above the upper end of its own interval. It is .025 for
            one model, and smaller for several, by the correlation of the differences.
    """

    best: str
    interval: Interval
    upper_tail: float


def mean_interval(scores: Sequence[float]) -> Interval | None:
    """Return the mean of scores from 0 to 1 with its 95 % interval by Student's t; None for fewer than three.

    >>> found = mean_interval([0.5, 0.6, 0.7])
    >>> f"{found.value:.1f}, {found.low:.4f} to {found.high:.4f}"
    '0.6, 0.3516 to 0.8484'
    """
    if over_people(len(scores)):
        return None
    interval = _student(np.array(scores, np.float64), TAIL)
    return Interval(interval.value, max(interval.low, 0.0), interval.high)


def share_interval(right: int, people: int) -> Interval:
    """Return a share of people with its 95 % interval by Wilson (1927), which is defined for shares of 0 and 1 as well.

    Args:
        right: Number of people who were predicted rightly.
        people: Number of people, 1 or more.

    >>> found = share_interval(9, 10)
    >>> f"{found.value:.1f}, {found.low:.4f} to {found.high:.4f}"
    '0.9, 0.5958 to 0.9821'
    """
    share, z = right / people, -float(ndtri(TAIL))
    centre = (share + z**2 / (2 * people)) / (1 + z**2 / people)
    half = z / (1 + z**2 / people) * float(np.sqrt(share * (1 - share) / people + z**2 / (4 * people**2)))
    return Interval(share, min(max(centre - half, 0.0), share), max(min(centre + half, 1.0), share))


def joined(intervals: Sequence[Interval]) -> Interval:
    """Return the mean of figures, with an interval that holds those of all of them.

    >>> joined([Interval(0.5, 0.4, 0.6), Interval(1.0, 0.9, 1.0)])
    Interval(value=0.75, low=0.4, high=1.0)
    """
    value = float(np.mean([each.value for each in intervals]))
    return Interval(value, min(each.low for each in intervals), max(each.high for each in intervals))


def gain(model: Sequence[Score], other: Sequence[Score], *, upper_tail: float = TAIL) -> Interval | None:
    """Return how much better a model is than another one, paired.

    With five repeats or more it is Student's interval of the differences. With one repeat it is the
    bootstrap over the test people, with two the normal intervals over the test
    people of both, joined. With three or four repeats it is the wider one of Student's interval of the differences, and
    the mean normal interval over the test people of a repeat. A test by simulation shows that it covers 92 % or more,
    whether repeats differ by their people alone or by much more.
    None without test people, or if one repeat has no prediction of each person.

    Args:
        model, other: One score a repeat.
        upper_tail: Chance of a difference above the upper end; .025 is left below the lower one.
    """
    pairs = list(zip(model, other, strict=True))
    differences = np.array([ours.test - theirs.test for ours, theirs in pairs
                            if ours.test is not None and theirs.test is not None])  # fmt: skip
    people = [each for ours, theirs in pairs if (each := _right(ours, theirs)) is not None]
    if len(differences) > 1 and len(differences) == len(people):
        return over_repeats(differences, [_within(each) for each in people], upper_tail=upper_tail)
    if not over_people(len(differences)):
        return _student(differences, upper_tail)
    if len(differences) != 1 or not people:
        return None
    return _bootstrap(people[0], upper_tail)


def over_people(repeats: int) -> bool:
    """Return whether the interval of so many repeats is one over their test people alone.

    The spread of two figures says next to nothing: Student's interval is 13 standard errors wide to either side.

    >>> [over_people(repeats) for repeats in (1, 2, 3)]
    [True, True, False]
    """
    return repeats < FEWEST


def few(repeats: int) -> bool:
    """Return whether so many repeats are few: their spread is known badly, and intervals are wide.

    >>> [few(repeats) for repeats in (2, 3, 4, 5)]
    [False, True, True, False]
    """
    return FEWEST <= repeats < _ENOUGH


def margin(model: Sequence[Score], others: Mapping[str, Sequence[Score]]) -> Margin | None:
    """Return how much better a model is than the best of several others; None where no difference has an interval.

    Both ends are the smallest ones over the models. A method is above the best model if it is above each of them, so
    the lower ends need no correction (intersection-union test). It is below if it is below one, so the upper ends
    have to hold at once: with probability .975 none of them is passed. The joint distribution of the differences
    gives the tail of each.
    """
    gains = {name: each for name, scores in others.items() if (each := gain(model, scores)) is not None}
    if not gains:
        return None
    tail = _joint_tail(model, [others[name] for name in gains])
    best = min(gains, key=lambda name: gains[name].value)
    low = min(each.low for each in gains.values())
    high = min(each.high for name in gains if (each := gain(model, others[name], upper_tail=tail)) is not None)
    return Margin(best, Interval(gains[best].value, low, high), tail)


def _joint_tail(model: Sequence[Score], others: Sequence[Sequence[Score]]) -> float:
    """Return the tail of each difference, so that with probability .975 none of them is passed.

    The differences are taken as jointly normal, with the correlation that they have over the test people of a repeat;
    the quantile of the largest one is that of 20,000 draws. Where Student's distribution replaces the normal one, the
    tail is the same (a Gaussian copula).
    """
    if len(others) == 1:
        return TAIL
    covariance = np.zeros((len(others), len(others)))
    for ours, *theirs in zip(model, *others, strict=True):
        people = [_right(ours, each) for each in theirs]
        if any(each is None for each in people):
            return TAIL / len(others)  # Bonferroni: the correlation is not known
        covariance += np.cov(np.array(people, np.float64), bias=True)
    values, vectors = np.linalg.eigh(covariance)
    spread = np.sqrt(np.diag(covariance))
    apart = spread > 0  # a model without any difference is never ahead
    if not apart.any():
        return TAIL
    root = (vectors * np.sqrt(np.maximum(values, 0)))[apart] / spread[apart, None]
    drawn = np.random.default_rng(_SEED).standard_normal((_JOINT_DRAWS, len(others)))
    return float(ndtr(-np.quantile((drawn @ root.T).max(axis=1), 1 - TAIL)))


def over_repeats(differences: ArrayLike, errors: Sequence[float], *, upper_tail: float = TAIL) -> Interval:
    """Return the mean of differences, one a repeat, whose standard errors over people are known.

    The rule is that of :func:`gain`; one repeat or two have a normal interval over people.

    Args:
        differences: The differences, at least one.
        errors: Their standard errors.
        upper_tail: Chance of a difference above the upper end.
    """
    values = np.array(differences, np.float64)
    if over_people(len(values)):
        return joined([_around(float(value), -float(ndtri(TAIL)) * error, -float(ndtri(upper_tail)) * error)
                       for value, error in zip(values, errors, strict=True)])  # fmt: skip
    return _few(values, float(np.mean(errors)), upper_tail) if few(len(values)) else _student(values, upper_tail)


def repeats_to_show(interval: Interval, repeats: int, points: float = 0.03) -> int:
    """Return about how many repeats would show a difference of some points: the half width of Student's interval.

    The standard error of one repeat is taken from the interval that is there: over the test people of one repeat or
    two, else over repeats. Five repeats are the fewest whose own spread makes the interval (:func:`gain`).

    Args:
        interval: Of a difference.
        repeats: Number of repeats it was made from.
        points: The difference to show, as a fraction.

    >>> repeats_to_show(Interval(0.0, -0.03, 0.03), 1), repeats_to_show(Interval(0.0, -0.06, 0.06), 1)
    (5, 7)
    """
    half = interval.value - interval.low
    one = half / -float(ndtri(TAIL))
    if not over_people(repeats):
        one = half / -float(stdtrit(repeats - 1, TAIL)) * float(np.sqrt(repeats))
    needed = _ENOUGH
    while -float(stdtrit(needed - 1, TAIL)) * one > points * np.sqrt(needed):
        needed += 1
    return needed


def _right(ours: Score, theirs: Score) -> NDArray[Any] | None:
    """Return the difference of each test person; None where one model has no prediction of each."""
    return None if ours.right is None or theirs.right is None else 1 * ours.right - theirs.right


def _student(figures: NDArray[np.float64], upper_tail: float) -> Interval:
    error, freedom = _error(figures), len(figures) - 1
    return _around(float(np.mean(figures)), *(-float(stdtrit(freedom, tail)) * error for tail in (TAIL, upper_tail)))


def _few(differences: NDArray[np.float64], within: float, upper_tail: float) -> Interval:
    """Return the wider one of Student's interval and a normal one with the standard error ``within``."""
    error, freedom = _error(differences), len(differences) - 1
    halves = (max(-float(stdtrit(freedom, tail)) * error, -float(ndtri(tail)) * within) for tail in (TAIL, upper_tail))
    return _around(float(np.mean(differences)), *halves)


def _within(people: NDArray[Any]) -> float:
    """Return the standard error of the mean over the test people of one repeat."""
    return float(np.std(people)) / float(np.sqrt(len(people)))


def _error(differences: NDArray[np.float64]) -> float:
    """Return the standard error of the mean over repeats."""
    return float(np.std(differences, ddof=1)) / float(np.sqrt(len(differences)))


def _around(value: float, below: float, above: float) -> Interval:
    return Interval(value, max(value - below, -1.0), min(value + above, 1.0))  # shares differ by 1 at most


def _bootstrap(differences: NDArray[np.int64], upper_tail: float) -> Interval:
    """Draw the people again, 2,000 times; their differences are -1, 0 or 1, so counts are enough."""
    n = len(differences)
    counts = np.bincount(differences + 1, minlength=3)
    drawn = np.random.default_rng(_SEED).multinomial(n, counts / n, size=_DRAWS)
    low, high = np.quantile((drawn[:, 2] - drawn[:, 0]) / n, (TAIL, 1 - upper_tail))
    return Interval(float(np.mean(differences)), float(low), float(high))
