"""Differencing: one person's features from exact sums over neighbourhoods (LPGNN, Figure 3).

Two neighbourhoods that differ in one person give that person's features away:
AGG({B, C, D}) - AGG({C, D}) = x_B. More generally a person's features are known as soon as
some combination of the neighbourhoods whose exact sums are known is that person alone:
e_B = w A for a row vector w, with A the 0/1 matrix of neighbourhoods (or the weights of
any linear aggregation). With sums of *perturbed* features the same w gives the perturbed
features of B and nothing beyond them: the attack ends at the report that B made anyway.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from devices.array_types import FloatArray


def solvable(weights: FloatArray) -> NDArray[np.bool_]:
    """bool (people,): whose features follow from the aggregates ``weights @ features``.

    Args:
        weights: (aggregates, people), how much each person counts in each aggregate.
    """
    projection = np.linalg.pinv(weights) @ weights
    return np.asarray(np.isclose(np.diag(projection), 1.0, atol=1e-8))


def difference(weights: FloatArray, aggregates: FloatArray) -> FloatArray:
    """float64 (people, d): features by least squares; exact for the people of :func:`solvable`.

    Args:
        weights: (aggregates, people).
        aggregates: (aggregates, d), what the curator was given.
    """
    return np.asarray(np.linalg.pinv(weights) @ aggregates)
