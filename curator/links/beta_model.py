"""The beta-model of a graph, fitted to degrees (Chatterjee, Diaconis and Sly 2011).

Edges are independent with Pr[i ~ j] = s_i s_j / (1 + s_i s_j), s_i = e^{beta_i}. The
maximum-likelihood s is the fixed point of

    s_i <- d_i / sum_{j != i} s_j / (1 + s_i s_j).

Blink iterates it 200 times from s = 1. People of the same degree have the same s in every step,
so the iteration runs over the distinct degrees with their counts. The numbers are the same, and
no array has size n x n.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

STEPS = 200
TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class BetaModel:
    """A fitted model.

    Args:
        strength: float64 (n,): s_i.
        steps: Number of steps taken.
        converged: True if the last step changed no beta by more than 1e-10.
    """

    strength: NDArray[np.float64] = field(repr=False)
    steps: int
    converged: bool


def fit_beta_model(degrees: NDArray, *, steps: int = STEPS) -> BetaModel:
    """Fit the model to degrees.

    Some degrees have no maximum (no model has them as expectations). The iteration then does not
    settle and ends after ``steps``.

    Args:
        degrees: (n,), each above 0 and below n - 1.
        steps: Largest number of steps; the iteration stops early once no beta changes by more than 1e-10.

    Raises:
        ValueError: for a degree outside its range.

    >>> fit_beta_model(np.array([2, 2, 2, 2])).strength.round(3)  # every pair: 2 / 3
    array([1.414, 1.414, 1.414, 1.414])
    """
    n = len(degrees)
    if n and not (degrees.min() > 0 and degrees.max() < n - 1):
        raise ValueError(f"degrees of {n} people must lie above 0 and below {n - 1}")
    distinct, place, counts = np.unique(degrees, return_inverse=True, return_counts=True)
    s = np.ones(len(distinct))
    change, taken = np.inf, 0
    while n and taken < steps and change > TOLERANCE:
        others = (counts * s / (1 + np.outer(s, s))).sum(axis=1) - s / (1 + s * s)
        new = distinct / others
        change = float(np.abs(np.log(new / s)).max())
        s, taken = new, taken + 1
    return BetaModel(s[place.ravel()] if n else np.zeros(0), taken, change <= TOLERANCE or not n)
