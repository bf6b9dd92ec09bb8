"""Logistic regression: the fit of scikit-learn, reports through their channel, the choice of a strength."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from ldpsim.curator.learning import logistic
from ldpsim.curator.learning.logistic import LogisticFit, fit_logistic, logistic_scores
from ldpsim.curator.reports.labels import ObservedLabels

N, D, CLASSES = 60, 8, 3
RNG = np.random.Generator(np.random.PCG64(11))
FIRST, SECOND = RNG.normal(size=(N, 5)), RNG.normal(size=(5, D))
LABELS = RNG.integers(0, CLASSES, N)
EVERYBODY = np.arange(N)
IN_CLEAR = ObservedLabels(LABELS, CLASSES).log_likelihood(EVERYBODY)
EXACT: dict[str, Any] = {"tolerance": 1e-13, "steps": 5000}


@pytest.mark.parametrize("strength", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("rows", [(FIRST,), (csr_array(FIRST),), (FIRST, csr_array(SECOND))])
def test_labels_in_clear_give_the_fit_of_scikit_learn(rows: tuple[Any, ...], strength: float) -> None:
    """A product of two matrices is fitted as if it were multiplied out."""
    dense = FIRST if len(rows) == 1 else FIRST @ SECOND
    found = fit_logistic(rows, IN_CLEAR, strength, **EXACT)
    other = LogisticRegression(C=strength, tol=1e-10, max_iter=10_000).fit(dense, LABELS)
    np.testing.assert_allclose(found.weights, other.coef_.T, atol=1e-4)
    scores = found.scores(rows)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, other.predict_proba(dense), atol=1e-4)
    warm = fit_logistic(rows, IN_CLEAR, strength, start=found, **EXACT)
    np.testing.assert_allclose(warm.weights, found.weights, atol=1e-4)


def test_reports_go_through_their_channel_by_hand() -> None:
    """Six of ten report class 0, told right with probability 3/4: P / 4 * 3 + (1 - P) / 4 = .6, so P is .7."""
    right, wrong = np.log([0.75, 0.25])
    reports = np.array([[right, wrong]] * 6 + [[wrong, right]] * 4)
    for shift in (0.0, 5.0):  # a likelihood is known up to a factor of each report
        fit = fit_logistic((np.zeros((10, 1)),), reports + shift, 1.0, **EXACT)
        assert np.exp(fit.bias[0] - fit.bias[1]) == pytest.approx(0.7 / 0.3, rel=1e-5)
        assert not fit.weights.any()


def test_the_strength_with_the_most_hits_is_kept_and_the_walk_ends_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of equal ones it is the first; the fit to more people has the same strength."""
    hits, tried = {1.0: 3, 2.0: 5, 3.0: 5, 4.0: 4, 5.0: 9}, []
    learned, chosen, more = EVERYBODY[:20], EVERYBODY[20:30], EVERYBODY[:30]

    def fit(rows: Any, likelihood: Any, strength: float, *, start: Any) -> Any:
        tried.append((strength, len(rows[0]), start and start.strength))
        return FakeFit(strength, hits[strength])

    class FakeFit(LogisticFit):
        def __init__(self, strength: float, right: int) -> None:
            super().__init__(np.zeros((1, CLASSES)), np.zeros(CLASSES), strength)
            self.__dict__["right"] = right

        def scores(self, rows: Any) -> Any:
            classes = np.full(N, self.strength, np.int64) % CLASSES
            classes[chosen] = (LABELS[chosen] + (np.arange(10) >= self.__dict__["right"])) % CLASSES
            return np.eye(CLASSES)[classes]

    monkeypatch.setattr(logistic, "fit_logistic", fit)
    labels, test = ObservedLabels(LABELS, CLASSES), EVERYBODY[30:]
    fair, final = logistic_scores((FIRST,), labels, learned, chosen, more, tuple(hits))
    assert (fair[test].argmax(axis=1) == 2).all() and (final[test].argmax(axis=1) == 2).all()
    assert tried == [(1.0, 20, None), (2.0, 20, 1.0), (3.0, 20, 2.0), (4.0, 20, 3.0), (2.0, 30, 2.0)]
    alone = logistic_scores((FIRST,), labels, learned, chosen, strengths=tuple(hits))
    assert alone[0] is alone[1]


def test_reports_of_labels_are_chosen_among_and_learned_from_as_reports() -> None:
    """Report a has the chances .9 and .8 under the two classes: six of ten say it, which class 1 explains best."""
    reports = np.log(np.array([[0.9, 0.8]] * 6 + [[0.1, 0.2]] * 4))
    labels = ObservedLabels(reports.argmax(axis=1), 2, log_likelihoods=reports)
    rows = csr_array((10, 1))
    people = np.arange(10)
    assert (logistic_scores((rows,), labels, people, people)[0].argmax(axis=1) == 1).all()
    as_if_clear = ObservedLabels(labels.labels, 2)
    assert (logistic_scores((rows,), as_if_clear, people, people)[0].argmax(axis=1) == 0).all()


def test_labels_of_others_are_not_read() -> None:
    learned, chosen = EVERYBODY[:20], EVERYBODY[20:30]
    other = np.where(EVERYBODY < 30, LABELS, (LABELS + 1) % CLASSES)
    one, two = (logistic_scores((FIRST,), ObservedLabels(known, CLASSES), learned, chosen) for known in (LABELS, other))
    assert np.array_equal(one[0], two[0])
