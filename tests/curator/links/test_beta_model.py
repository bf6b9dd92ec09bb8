from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.links.blink import fit_beta_model


def _dense(degrees: np.ndarray, steps: int) -> np.ndarray:
    """The published iteration on n x n: beta_i <- log d_i - log sum_{j != i} 1 / (e^-beta_j + e^beta_i), from 0."""
    beta = np.zeros(len(degrees))
    for _ in range(steps):
        terms = 1 / (np.exp(-beta)[None, :] + np.exp(beta)[:, None])
        np.fill_diagonal(terms, 0)
        beta = np.log(degrees) - np.log(terms.sum(axis=1))
    return np.exp(beta)


@pytest.mark.parametrize("steps", [1, 2, 200])
def test_distinct_degrees_take_the_steps_of_everybody(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpsim.curator.links.blink.TOLERANCE", -1)  # never stop early
    degrees = np.random.default_rng(0).integers(1, 12, 50)
    fitted = fit_beta_model(degrees, steps=steps)
    np.testing.assert_allclose(fitted.strength, _dense(degrees, steps), rtol=1e-12)
    assert fitted.steps == steps


def test_expected_degrees_are_the_degrees() -> None:
    degrees = np.random.default_rng(1).integers(1, 20, 80)
    fitted = fit_beta_model(degrees)
    odds = np.outer(fitted.strength, fitted.strength)
    probability = odds / (1 + odds)
    np.fill_diagonal(probability, 0)
    np.testing.assert_allclose(probability.sum(axis=1), degrees, rtol=1e-8)
    assert fitted.converged and fitted.steps < 200


def test_degrees_that_no_model_expects_end_by_themselves() -> None:
    fitted = fit_beta_model(np.array([4, 4, 4, 1, 1, 1]))  # three hubs of all but one, three with one: no maximum
    assert not fitted.converged and fitted.steps == 200
    assert np.isfinite(fitted.strength).all()


def test_an_impossible_degree_is_refused() -> None:
    for degrees in ([0, 1, 1, 1], [3, 1, 1, 1]):
        with pytest.raises(ValueError, match="must lie above 0 and below 3"):
            fit_beta_model(np.array(degrees))
