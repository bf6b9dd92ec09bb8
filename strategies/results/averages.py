"""Mean and spread over repeats, and the 95 % interval of a difference between two models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from strategies.results.outcome import Score

_DRAWS, _SEED = 2000, 20260
_TAIL = 0.025
_FEW = 5  # with fewer repeats, Student's interval is too wide to say anything: +- 9 standard deviations with two


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are there; None without one."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def spread(values: Sequence[float | None]) -> float | None:
    """Return the sample standard deviation; None for one figure."""
    known = [value for value in values if value is not None]
    return float(np.std(known, ddof=1)) if len(known) > 1 else None


@dataclass(frozen=True)
class Interval:
    """A difference of accuracies with its 95 % interval, as fractions."""

    value: float
    low: float
    high: float


def gain(model: Sequence[Score], other: Sequence[Score]) -> Interval | None:
    """Return how much better a model is than another one, paired.

    With five repeats or more it is Student's interval of the differences. With one repeat it is the
    bootstrap over the test people (for the AUC of pairs a normal interval). With two to four repeats it is a normal
    interval, whose standard error is the larger one of the error over repeats and the mean error over the test
    people of a repeat.
    None without test people, or if one repeat has no prediction of each person.
    """
    pairs = list(zip(model, other, strict=True))
    differences = np.array([ours.test - theirs.test for ours, theirs in pairs
                            if ours.test is not None and theirs.test is not None])  # fmt: skip
    people = [1 * ours.right - theirs.right for ours, theirs in pairs
              if ours.right is not None and theirs.right is not None]  # fmt: skip
    if len(differences) >= _FEW or 1 < len(differences) != len(people):
        return _student(differences)
    if not len(differences) or not people:
        return None
    if len(differences) > 1:
        return _few(differences, people)
    (each,) = people
    if np.issubdtype(each.dtype, np.integer):
        return _bootstrap(each)
    return _around(float(np.mean(each)), float(ndtri(1 - _TAIL)) * _within(each))


def over_seeds(found: Sequence[Interval]) -> Interval:
    """Return the mean of differences that separate runs found, each with an interval of its own.

    The rule is that of :func:`gain`: Student's interval with five runs or more; with fewer a normal interval,
    whose standard error is the larger one of the error over the runs and the mean error of a run. One run's
    interval stays as it is.
    """
    if len(found) == 1:
        return found[0]
    differences = np.array([each.value for each in found])
    if len(found) >= _FEW:
        return _student(differences)
    within = np.mean([(each.high - each.low) / 2 for each in found]) / ndtri(1 - _TAIL)
    error = max(_error(differences), float(within))
    return _around(float(np.mean(differences)), float(ndtri(1 - _TAIL)) * error)


def _student(differences: NDArray[np.float64]) -> Interval:
    half = float(stdtrit(len(differences) - 1, 1 - _TAIL) * _error(differences))
    return _around(float(np.mean(differences)), half)


def _few(differences: NDArray[np.float64], people: Sequence[NDArray[Any]]) -> Interval:
    error = max(_error(differences), float(np.mean([_within(each) for each in people])))
    return _around(float(np.mean(differences)), float(ndtri(1 - _TAIL)) * error)


def _within(people: NDArray[Any]) -> float:
    """Return the standard error of the mean over the test people of one repeat."""
    return float(np.std(people)) / float(np.sqrt(len(people)))


def _error(differences: NDArray[np.float64]) -> float:
    """Return the standard error of the mean over repeats."""
    return float(np.std(differences, ddof=1)) / float(np.sqrt(len(differences)))


def _around(value: float, half: float) -> Interval:
    return Interval(value, max(value - half, -1.0), min(value + half, 1.0))  # shares differ by 1 at most


def _bootstrap(differences: NDArray[np.int64]) -> Interval:
    """Draw the people again, 2,000 times; their differences are -1, 0 or 1, so counts are enough."""
    n = len(differences)
    counts = np.bincount(differences + 1, minlength=3)
    drawn = np.random.default_rng(_SEED).multinomial(n, counts / n, size=_DRAWS)
    low, high = np.quantile((drawn[:, 2] - drawn[:, 0]) / n, (_TAIL, 1 - _TAIL))
    return Interval(float(np.mean(differences)), float(low), float(high))
