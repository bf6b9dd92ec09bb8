from __future__ import annotations

import math

import pytest

from ldpsim.cli.words import (
    best_guess,
    difference,
    epsilon,
    level,
)
from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.strategies.results.in_words import guess, privacy_in_words


def test_a_loss_is_never_rounded_down() -> None:
    assert [epsilon(value) for value in (1146.4, 14.4, 14.41, 0.8, 0.30001, 7.2, 20636.8)] == [
        "1,146.4", "14.4", "14.41", "0.8", "0.3001", "7.2", "20,636.8",
    ]  # fmt: skip


def test_what_holds_in_words() -> None:
    assert level({"status": "bounded", "value": 3.0, "delta": 1e-4}) == "3 (δ 1e-4)"
    assert level({"status": "bounded", "value": 3.0, "delta": 0.0}) == "3"
    assert level({"status": "not asked", "value": None, "delta": 0.0}) == "not asked"


@pytest.mark.parametrize(
    ("value", "text"),
    [(7.2, "7.2"), (0.8, "0.8"), (1, "1"), (0.80001, "0.8001"), (43390.400000001, "43,390.4"), (0.00001, "0.0001"),
     (math.inf, "in clear"), (None, "–")],
)  # fmt: skip
def test_a_bound_is_rounded_up(value: float | None, text: str) -> None:
    assert epsilon(value) == text


def test_the_best_guess_is_the_bayes_risk_of_a_loss() -> None:
    assert best_guess(1.0) == "73.2 %"  # e / (1 + e) = 0.731059
    assert best_guess(0.0) == "50 %"
    assert best_guess(0.0, delta=0.5) == "75 %"
    assert best_guess(20.0) == ">99.9 %"
    assert best_guess(1e6) == ">99.9 %"


@pytest.mark.parametrize("value", [0.1, 0.8, 4.0, 4.0001])
def test_one_best_guess_is_one_figure_on_every_screen(value: float) -> None:
    """98.3 in words, 98.21 in the table and 98.20 elsewhere were one chance."""
    entry = {**Level("bounded", value).to_dict(), "status": "bounded"}
    record = {"privacy": {"holds": {name: Level("not asked").to_dict() for name in LEVELS} | {"label": entry}},
              "reconstruction": {}}  # fmt: skip
    (said,) = [found.detail for found in privacy_in_words(record) if found.levels == ("label",)]
    shown = best_guess(value)
    assert said == f"best guess {shown}"
    assert guess(value) * 100 <= float(shown.strip("> %")) < guess(value) * 100 + 0.1


def test_a_difference_has_a_sign_and_no_negative_zero() -> None:
    assert difference({"value": 0.0031, "low": -0.0001, "high": 0.0152}) == "+0.3 (+0.0 to +1.5)"
    assert difference({"value": -0.176, "low": -0.189, "high": -0.162}) == "-17.6 (-18.9 to -16.2)"
