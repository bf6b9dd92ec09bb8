"""LPGNN's Figure 3: exact aggregates give a person away, noisy reports give the report and no more.

Differencing: one person's features from exact sums over neighbourhoods (LPGNN, Figure 3).

Two neighbourhoods that differ in one person give that person's features away:
AGG({B, C, D}) - AGG({C, D}) = x_B. More generally a person's features are known as soon as
some combination of the neighbourhoods whose exact sums are known is that person alone:
e_B = w A for a row vector w, with A the 0/1 matrix of neighbourhoods (or the weights of
any linear aggregation). With sums of *perturbed* features the same w gives the perturbed
features of B and nothing beyond them: the attack ends at the report that B made anyway.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.mechanisms import MultiBit
from ldpsim.devices.noise import NoiseStream

# A is linked to B, C, D and E to C, D; people in the order A, B, C, D, E
FIGURE = np.array([[0, 1, 1, 1, 0], [0, 0, 1, 1, 0]], float)


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


def test_figure_3a() -> None:
    features = np.random.default_rng(0).random((5, 6))
    assert solvable(FIGURE).tolist() == [False, True, False, False, False]
    found = difference(FIGURE, FIGURE @ features)
    assert found[1] == pytest.approx(features[1])
    assert not np.allclose(found[2], features[2])  # C and D are only known together


def test_weights_do_not_hide_anybody() -> None:
    """Mean and GCN weights are public numbers: the same people follow."""
    scaled = FIGURE / np.array([[3.0], [np.sqrt(2 * 3)]])
    assert solvable(scaled).tolist() == solvable(FIGURE).tolist()


def test_figure_3b() -> None:
    """From perturbed features the difference is B's own noisy report: nothing beyond what B said."""
    features = np.random.default_rng(0).random((5, 6))
    mechanism = MultiBit.from_epsilon(1.0, d=6)
    told = np.array([
        mechanism.estimate(mechanism.perturb(row, NoiseStream(bytes([number]) * 32)))
        for number, row in enumerate(features)
    ])  # fmt: skip
    found = difference(FIGURE, FIGURE @ told)
    assert found[1] == pytest.approx(told[1])
    assert np.abs(found[1] - features[1]).max() > 0.3
