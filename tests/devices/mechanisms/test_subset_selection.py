"""Subset selection by exhaustive enumeration, and the figures of its paper."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from ldpsim.devices.mechanisms import SubsetSelection
from ldpsim.devices.mechanisms.exact_loss import ONE


@pytest.mark.parametrize(("k", "epsilon"), [(7, 0.5), (7, 1.0), (70, 1.0), (1000, 3.0), (3, 20.0)])
def test_the_threshold_is_the_papers_probability_and_the_loss_never_exceeds_epsilon(k: int, epsilon: float) -> None:
    mechanism = SubsetSelection.from_epsilon(epsilon, categories=k)
    w, e = mechanism.size, math.exp(epsilon)
    assert w == max(1, round(k / (e + 1)))
    assert mechanism.truth_probability == pytest.approx(w * e / (w * e + k - w), rel=1e-12)
    exact = Fraction((ONE - mechanism.miss) * (k - w), mechanism.miss * w)
    assert math.log(exact) <= epsilon + 1e-15 * epsilon
    assert epsilon - 1e-9 <= mechanism.loss().vector <= epsilon
