"""Thresholds and losses: exact, and rounded in the safe direction; mechanisms by name."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpsim.devices import mechanisms
from ldpsim.devices.mechanisms import Loss, Mechanism, SubsetSelection, find
from ldpsim.devices.mechanisms.exact_loss import ONE, log_ratio, probability_threshold, round_up


def exact_log(numerator: int, denominator: int) -> Decimal:
    with localcontext() as context:
        context.prec = 80
        return (Decimal(numerator) / Decimal(denominator)).ln()


@given(st.floats(1e-6, 44), st.integers(1, 50))
def test_a_threshold_never_loses_more_than_epsilon(epsilon: float, odds: int) -> None:
    threshold = probability_threshold(epsilon, odds)
    assert 0 < threshold < ONE
    loss = exact_log((ONE - threshold) * odds, threshold)
    assert loss <= Decimal(repr(epsilon))
    # One step further down would lose more than epsilon: the threshold is the smallest allowed.
    assert threshold == 1 or exact_log((ONE - threshold + 1) * odds, threshold - 1) > Decimal(repr(epsilon))
    printed = log_ratio((ONE - threshold) * odds, threshold)
    assert 0 <= Decimal(repr(printed)) - loss < Decimal("1e-9")


def test_what_64_bits_cannot_hold_is_refused() -> None:
    assert probability_threshold(44.3) >= 1
    for large in (44.4, 1e9, 1e308):
        with pytest.raises(ValueError, match="beyond what a 64-bit threshold can hold"):
            probability_threshold(large)
    with pytest.raises(ValueError, match="too small"):
        probability_threshold(1e-20)


def test_losses_add_and_stay_readable() -> None:
    total = Loss(0.1, 1.1, 1e-6) + Loss(0.2, 2.2, 1e-6)
    assert (total.bit, total.vector, total.delta) == (0.3, 3.3, 2e-6)
    assert (Loss(1.0, math.inf) + Loss(1.0, 2.0)).vector == math.inf
    assert round_up(1.0000000001) == 1.000000001
    assert round_up(0.1 + 0.2) == 0.3
    assert round_up(Decimal("2.0000000000000000001")) == 2.000000001


def test_mechanisms_are_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(Mechanism):
        name = "own"

    class Entry:
        def __init__(self, name: str, value: object) -> None:
            self.name, self.value = name, value

        def load(self) -> object:
            return self.value

    offered = [Entry("own", Own), Entry("grr", Own), Entry("wrong", 7)]
    mechanisms._installed.cache_clear()
    monkeypatch.setattr(mechanisms, "entry_points", lambda group: offered if group == "ldpsim.mechanisms" else [])
    assert find("own") is Own
    assert find("grr") is mechanisms.GRR  # a package cannot take a built-in's name
    assert find("wrong") is None and find("nobody") is None
    mechanisms._installed.cache_clear()


@pytest.mark.parametrize(("k", "epsilon"), [(7, 0.5), (7, 1.0), (70, 1.0), (1000, 3.0), (3, 20.0)])
def test_the_threshold_is_the_papers_probability_and_the_loss_never_exceeds_epsilon(k: int, epsilon: float) -> None:
    mechanism = SubsetSelection.from_epsilon(epsilon, categories=k)
    w, e = mechanism.size, math.exp(epsilon)
    assert w == max(1, round(k / (e + 1)))
    assert mechanism.truth_probability == pytest.approx(w * e / (w * e + k - w), rel=1e-12)
    exact = Fraction((ONE - mechanism.miss) * (k - w), mechanism.miss * w)
    assert math.log(exact) <= epsilon + 1e-15 * epsilon
    assert epsilon - 1e-9 <= mechanism.loss().vector <= epsilon
