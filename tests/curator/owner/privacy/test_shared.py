from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from ldpsim.curator.owner.privacy.label import (
    amplified,
    label_loss,
    label_probabilities,
    shared_label_epsilon,
)


def laws(classes: int, lambdas: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Joint laws of one query's labels, one a lambda, with the person in the sample and without."""
    p, q = np.ones(1), np.ones(1)
    for lambda_ in lambdas:
        a, b = label_probabilities(classes, lambda_)
        within, without = np.full(classes, b), np.full(classes, b)
        within[0] = without[1] = a
        p, q = np.outer(p, within).ravel(), np.outer(q, without).ravel()
    return p, q


def exact(parts: list[tuple[np.ndarray, np.ndarray]], gamma: float, delta: float, *, once: bool) -> float:
    """Epsilon by enumerating every outcome of every query."""
    mixed, plain, all_in = np.ones(1), np.ones(1), np.ones(1)
    for p, q in parts:
        mixed = np.outer(mixed, (1 - gamma) * q + gamma * p).ravel()
        plain, all_in = np.outer(plain, q).ravel(), np.outer(all_in, p).ravel()
    if once:
        mixed = (1 - gamma) * plain + gamma * all_in

    def root(one: np.ndarray, other: np.ndarray) -> float:
        def excess(epsilon: float) -> float:
            return float(np.maximum(one - math.exp(epsilon) * other, 0).sum()) - delta

        return 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0, 100, xtol=1e-12))

    return max(root(mixed, plain), root(plain, mixed))


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("gamma", [0.3, 1.0])
def test_by_enumerating_every_outcome(gamma: float, once: bool) -> None:
    """Two queries under both lambdas, and one of them under one lambda only."""
    found = shared_label_epsilon({0.9: 2, 1.3: 2}, classes=3, delta=1e-3)
    truth = exact([laws(3, [0.9, 1.3])] * 2, gamma, 1e-3, once=once)
    assert truth - 1e-9 <= found and (gamma < 1 or found < truth + 0.1)
    fewer = shared_label_epsilon({0.9: 2, 1.3: 1}, classes=3, delta=1e-3)
    assert exact([laws(3, [0.9, 1.3]), laws(3, [0.9])], gamma, 1e-3, once=once) - 1e-9 <= fewer < found


def test_figures_that_were_amplified_one_by_one_do_not_add_up() -> None:
    """One query, answered twice: the sum of two amplified losses is less than what is lost."""
    truth = exact([laws(3, [1.0, 1.0000001])], 0.3, 1e-9, once=False)
    assert truth > 2 * amplified(label_loss(3, 1.0), 0.3) + 0.1
    assert shared_label_epsilon({1.0: 1, 1.0000001: 1}, classes=3, delta=1e-9) >= truth
