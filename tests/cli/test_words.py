from __future__ import annotations

import math

import pytest

from ldpsim.cli.words import (
    best_guess,
    difference,
    epsilon,
    level,
)


def test_what_holds_in_words() -> None:
    assert level({"status": "bounded", "value": 3.0, "delta": 1e-4}) == "3 (δ 1e-4)"
    assert level({"status": "bounded", "value": 3.0, "delta": 0.0}) == "3"
    assert level({"status": "not asked", "value": None, "delta": 0.0}) == "not asked"


@pytest.mark.parametrize(
    ("value", "text"),
    [(7.2, "7.2"), (0.8, "0.8"), (1, "1"), (0.80001, "0.8001"), (43390.400000001, "43,390.4"), (0.00001, "0.0001"),
     (14.41, "14.41"), (20636.8, "20,636.8"), (math.inf, "in clear"), (None, "–")],
)  # fmt: skip
def test_a_bound_is_rounded_up(value: float | None, text: str) -> None:
    assert epsilon(value) == text


def test_the_best_guess_is_the_bayes_risk_of_a_loss() -> None:
    assert best_guess(1.0) == "73.2 %"  # e / (1 + e) = 0.731059
    assert best_guess(0.0) == "50 %"
    assert best_guess(0.0, delta=0.5) == "75 %"
    assert best_guess(20.0) == ">99.9 %"
    assert best_guess(1e6) == ">99.9 %"


def test_a_difference_has_a_sign_and_no_negative_zero() -> None:
    assert difference({"value": 0.0031, "low": -0.0001, "high": 0.0152}) == "+0.3 points (95 % CI +0.0 to +1.5)"
    assert difference({"value": -0.176, "low": -0.189, "high": -0.162}) == "-17.6 points (95 % CI -18.9 to -16.2)"
