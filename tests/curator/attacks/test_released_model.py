"""Likelihood-ratio attack on signals of known laws: power, no false alarm, and a bound that stays below the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldpsim.curator.attacks.mechanism_audit import Effort
from ldpsim.curator.attacks.released_model import InferenceRow, inference_row

EFFORT = Effort(rows=1)


def attacked(signals: np.ndarray, coins: np.ndarray, claimed: float | None = 1.0, delta: float = 0.0) -> InferenceRow:
    return inference_row("made", "label", signals, coins, EFFORT, claimed=claimed, delta=delta)


def flipped(epsilon: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a coin under randomised response with epsilon as the signal, and the coin; 60 runs, 40 targets."""
    rng = np.random.default_rng(seed)
    coins = rng.random((60, 40)) < 0.5
    keep = rng.random(coins.shape) < math.exp(epsilon) / (1 + math.exp(epsilon))
    return np.where(keep, coins, ~coins).astype(float), coins


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_bound_is_below_the_true_loss_and_near_it(epsilon: float) -> None:
    row = attacked(*flipped(epsilon), claimed=epsilon)
    assert row.passed is True and row.lower_bound is not None
    assert max(0.0, epsilon - 0.6) <= row.lower_bound <= epsilon
    assert row.right == pytest.approx(row.largest_right, abs=5 * math.sqrt(0.25 / row.guesses))


def test_a_claim_that_is_too_small_fails() -> None:
    assert attacked(*flipped(2.0), claimed=1.0).passed is False


def test_nothing_is_judged_without_a_bound_or_with_a_delta() -> None:
    assert attacked(*flipped(2.0), claimed=None).passed is None
    assert attacked(*flipped(2.0), delta=1e-5).passed is None
