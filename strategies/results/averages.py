"""Mean and spread over repeats, and the 95 % interval of a difference between two models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from strategies.results.outcome import Score

_DRAWS, _SEED = 2000, 20260
_TAIL = 0.025


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

    With several repeats it is Student's interval of the differences. With one repeat it is the
    bootstrap over the test people. None without test people, or if one repeat has no prediction
    of each person.
    """
    differences = [ours.test - theirs.test for ours, theirs in zip(model, other, strict=True)
                   if ours.test is not None and theirs.test is not None]  # fmt: skip
    if len(differences) > 1:
        return _student(np.array(differences))
    if not differences or model[0].right is None or other[0].right is None:
        return None
    return _bootstrap(model[0].right.astype(np.int64) - other[0].right)


def _student(differences: NDArray[np.float64]) -> Interval:
    value = float(np.mean(differences))
    error = float(np.std(differences, ddof=1)) / np.sqrt(len(differences))
    half = float(stdtrit(len(differences) - 1, 1 - _TAIL) * error)
    return Interval(value, value - half, value + half)


def _bootstrap(differences: NDArray[np.int64]) -> Interval:
    """Draw the people again, 2,000 times; their differences are -1, 0 or 1, so counts are enough."""
    n = len(differences)
    counts = np.bincount(differences + 1, minlength=3)
    drawn = np.random.default_rng(_SEED).multinomial(n, counts / n, size=_DRAWS)
    low, high = np.quantile((drawn[:, 2] - drawn[:, 0]) / n, (_TAIL, 1 - _TAIL))
    return Interval(float(np.mean(differences)), float(low), float(high))
