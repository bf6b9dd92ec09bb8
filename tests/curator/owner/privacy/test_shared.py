from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from ldpsim.curator.owner.privacy.label import (
    amplified,
    label_epsilon,
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
@pytest.mark.parametrize("gamma", [0.09, 0.3, 1.0])
def test_by_enumerating_every_outcome(gamma: float, once: bool) -> None:
    """Two queries under both lambdas; one that is answered under one of them only counts as answered under both."""
    truth = exact([laws(3, [0.9, 1.3])] * 2, gamma, 1e-3, once=once)
    found = shared_label_epsilon([0.9, 1.3], queries=2, classes=3, delta=1e-3, gamma=gamma, once=once)
    assert truth - 1e-9 <= found <= truth + 0.01
    assert exact([laws(3, [0.9, 1.3]), laws(3, [0.9])], gamma, 1e-3, once=once) <= found
    forgotten = shared_label_epsilon([0.9], queries=2, classes=3, delta=1e-3, gamma=gamma, once=once)
    assert forgotten < truth - 0.01  # power: the other lambda is seen


def test_figures_that_were_amplified_one_by_one_do_not_add_up() -> None:
    """One query, answered twice: the sum of two amplified losses is less than what is lost."""
    classes, delta, gamma = 10, 1e-9, 0.3
    alone = amplified(label_loss(classes, 1.0), gamma)
    assert alone == pytest.approx(label_epsilon(queries=1, classes=classes, lambda_=1.0, delta=delta, gamma=gamma))
    together = shared_label_epsilon([1.0, 1.0000001], queries=1, classes=classes, delta=delta, gamma=gamma)
    assert together > 2 * alone + 0.1
    assert together == pytest.approx(amplified(2 * label_loss(classes, 1.0), gamma), abs=1e-2)
