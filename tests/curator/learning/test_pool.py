"""The pool: its gradient, its optimum, its honest predictions on the labelled people."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.learning.folds import folds_of
from ldpsim.curator.learning.pool import FOLDS, cross_fitted, fit_pool, loss_of, pooled
from ldpsim.curator.reports.labels import ObservedLabels

N, CLASSES = 200, 3
RNG = np.random.Generator(np.random.PCG64(4))
LABELS = RNG.integers(0, CLASSES, N)
GOOD = 2.0 * np.eye(CLASSES)[LABELS] + RNG.normal(size=(N, CLASSES))
NOISE = 30 * RNG.normal(size=(N, CLASSES))
COMPONENTS = {"good": GOOD, "noise": NOISE}
NODES = np.arange(0, N, 2)


def known(labels: np.ndarray, soft: np.ndarray | None = None) -> ObservedLabels:
    return ObservedLabels(labels, CLASSES, log_likelihoods=soft)


SOFT = np.log(np.full((N, CLASSES), 0.1) + 0.7 * np.eye(CLASSES)[LABELS])


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
