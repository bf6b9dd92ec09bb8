"""The pool: its gradient, its optimum, its honest predictions on the labelled people."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.learning.pool import FOLDS, cross_fitted, fit_pool, loss_of, pooled
from ldpsim.curator.learning.ridge import folds_of
from ldpsim.curator.reports.labels import LabelEvidence

N, CLASSES = 200, 3
RNG = np.random.Generator(np.random.PCG64(4))
LABELS = RNG.integers(0, CLASSES, N)
GOOD = 2.0 * np.eye(CLASSES)[LABELS] + RNG.normal(size=(N, CLASSES))
NOISE = 30 * RNG.normal(size=(N, CLASSES))
COMPONENTS = {"good": GOOD, "noise": NOISE}
NODES = np.arange(0, N, 2)


def known(labels: np.ndarray, soft: np.ndarray | None = None) -> LabelEvidence:
    return LabelEvidence(labels, CLASSES, soft=soft)


SOFT = np.log(np.full((N, CLASSES), 0.1) + 0.7 * np.eye(CLASSES)[LABELS])


@pytest.mark.parametrize("soft", [None, SOFT])
def test_gradient_is_that_of_finite_differences(soft: np.ndarray | None) -> None:
    stacked = np.stack([GOOD, NOISE / 30])[:, NODES]
    told = known(LABELS, soft).log_likelihood(NODES)
    at, step = np.array([0.4, 0.7]), 1e-6
    _, gradient = loss_of(at, stacked, told)
    for k in range(2):
        move = step * np.eye(2)[k]
        slope = (loss_of(at + move, stacked, told)[0] - loss_of(at - move, stacked, told)[0]) / (2 * step)
        assert gradient[k] == pytest.approx(slope, rel=1e-6)


def test_a_true_posterior_keeps_its_exponent_and_noise_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpsim.curator.learning.pool.STRENGTH", 0.0)
    pool = fit_pool(COMPONENTS, known(LABELS), np.arange(N))
    assert pool.exponents["good"] == pytest.approx(2, abs=0.5)  # ln p(label | row) is 2 row + constant
    assert pool.exponents["noise"] < 0.02
    best = -pool.log_probability[np.arange(N), LABELS].mean()
    for good in (0.8, 1.2):
        other = pooled(COMPONENTS, np.array([good, 1.0]) * list(pool.exponents.values()))
        assert -other[np.arange(N), LABELS].mean() > best
    np.testing.assert_allclose(np.exp(pool.log_probability).sum(axis=1), 1)


def test_exponents_are_never_negative() -> None:
    assert fit_pool({"wrong": -GOOD}, known(LABELS), NODES, prior={"wrong": 0.0}).exponents == {"wrong": 0}


def test_without_labels_the_prior_stands() -> None:
    hidden = np.full(N, -1)
    for nodes in (NODES, NODES[:0]):
        pool = fit_pool(COMPONENTS, known(hidden), nodes)
        assert pool.exponents == {"good": 0.5, "noise": 0.5}
    assert fit_pool(COMPONENTS, known(hidden), NODES, prior={"good": 1, "noise": 0}).exponents == {
        "good": 1,
        "noise": 0,
    }


def test_noisy_reports_give_the_exponents_of_the_true_labels() -> None:
    rng = np.random.Generator(np.random.PCG64(6))
    n = 20000
    labels = rng.integers(0, CLASSES, n)
    rows = np.eye(CLASSES)[labels] + rng.normal(size=(n, CLASSES))
    reported = np.where(rng.random(n) < 0.6, labels, (labels + rng.integers(1, CLASSES, n)) % CLASSES)
    soft = np.log(np.full((n, CLASSES), 0.2) + 0.4 * np.eye(CLASSES)[reported])
    pool = fit_pool({"row": rows}, known(np.full(n, -1), soft), np.arange(n))
    assert pool.exponents["row"] == pytest.approx(1, abs=0.2)
    naive = fit_pool({"row": rows}, known(reported), np.arange(n))
    assert naive.exponents["row"] < 0.6  # reports taken for labels


def test_cross_fitted_rows_come_from_the_other_folds() -> None:
    found = cross_fitted(COMPONENTS, known(LABELS), NODES)
    own = folds_of(len(NODES), FOLDS, 0)
    for fold in range(FOLDS):
        expected = fit_pool(COMPONENTS, known(LABELS), NODES[own != fold]).log_probability
        np.testing.assert_allclose(found[NODES[own == fold]], expected[NODES[own == fold]], atol=1e-12)
    others = np.setdiff1d(np.arange(N), NODES)
    assert np.array_equal(found[others], fit_pool(COMPONENTS, known(LABELS), NODES).log_probability[others])
    flipped = LABELS.copy()
    flipped[NODES[0]] = (flipped[NODES[0]] + 1) % CLASSES
    assert np.array_equal(found[NODES[0]], cross_fitted(COMPONENTS, known(flipped), NODES)[NODES[0]])


def test_others_fit_the_exponents_too() -> None:
    few, many = NODES[:2], NODES[2:]
    prior = {"good": 0.0, "noise": 0.0}
    both = fit_pool(COMPONENTS, known(LABELS), few, others=many, prior=prior)
    assert both.exponents == pytest.approx(fit_pool(COMPONENTS, known(LABELS), NODES, prior=prior).exponents, abs=1e-4)


def test_a_late_component_joins_where_it_helps() -> None:
    others = np.arange(1, N, 2)
    parroted = NOISE / 30
    parroted[others] = 9 * np.eye(CLASSES)[LABELS[others]]  # knows by heart what it was taught, else nothing
    pool = fit_pool({"good": GOOD}, known(LABELS), NODES, others=others)
    with_parrot = fit_pool({"good": GOOD}, known(LABELS), NODES, others=others, late={"parrot": parroted})
    assert with_parrot.exponents == {**pool.exponents, "parrot": 0}
    assert np.array_equal(with_parrot.log_probability, pool.log_probability)
    honest = np.eye(CLASSES)[LABELS] + RNG.normal(size=(N, CLASSES))
    found = fit_pool({"good": GOOD}, known(LABELS), NODES, others=others, late={"more": honest})
    assert found.exponents["more"] > 0.3
    both = {"good": GOOD, "more": honest}
    np.testing.assert_allclose(found.log_probability, pooled(both, np.array(list(found.exponents.values()))), atol=1e-9)
    hidden = np.where(np.isin(np.arange(N), NODES), -1, LABELS)  # nobody to join by
    assert fit_pool({"good": GOOD}, known(hidden), NODES, others=others, late={"more": honest}).exponents["more"] == 0


@pytest.mark.parametrize("strength", [0.0, 5.0])
@pytest.mark.parametrize("soft", [None, SOFT])
def test_exponents_are_the_optimum_whatever_the_scale_of_a_component(
    soft: np.ndarray | None, strength: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = np.eye(CLASSES)[LABELS] + RNG.normal(size=(N, CLASSES))
    components, prior = {"large": 100 * GOOD, "small": 0.02 * other}, {"large": 0.003, "small": 1.0}
    monkeypatch.setattr("ldpsim.curator.learning.pool.STRENGTH", strength)
    pool = fit_pool(components, known(LABELS, soft), NODES, prior=prior)
    told = known(LABELS, soft).log_likelihood(NODES)
    stacked = np.stack([part[NODES] for part in components.values()])

    def objective(exponents: np.ndarray) -> float:
        apart = exponents - np.array(list(prior.values()))
        return loss_of(exponents, stacked, told)[0] + strength / 2 * float(apart @ apart)

    best = np.array(list(pool.exponents.values()))
    assert (best > 0).all()
    for factor in ((1.03, 1), (0.97, 1), (1, 1.03), (1, 0.97)):
        assert objective(best * factor) > objective(best)
