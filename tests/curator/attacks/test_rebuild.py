"""Attackers on pairs: the bound against exact channels, a claim that is too small, and signals by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.sparse import csr_array

from curator.attacks.audit_row import Effort
from curator.attacks.rebuild import (
    ALL,
    PUBLIC,
    SIMILAR,
    RebuildRow,
    ScoredPairs,
    discriminant,
    largest_auc,
    public_signals,
    rebuild_row,
    similarity,
)
from curator.attacks.released_model import largest_true_positives
from curator.privacy.level import Level


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.2])
def test_the_bound_is_the_area_below_the_largest_true_positive_rates(epsilon: float, delta: float) -> None:
    kink = (1 - delta) / (1 + math.exp(epsilon))
    area = quad(lambda x: largest_true_positives(x, epsilon, delta), 0, 1, points=[kink, 1 - delta])[0]
    assert largest_auc(epsilon, delta) == pytest.approx(area, abs=1e-9)


def test_randomised_response_attains_the_bound_and_a_larger_loss_exceeds_it() -> None:
    """All outcomes of one bit: the area of its likelihood ratio is the bound; with a delta it may tell the bit too."""
    for epsilon, delta in ((0.5, 0.0), (2.0, 0.0), (1.0, 0.1)):
        truth = math.exp(epsilon) / (1 + math.exp(epsilon))
        law = {"sure": (delta, 0.0), "yes": ((1 - delta) * truth, (1 - delta) * (1 - truth)),
               "no": ((1 - delta) * (1 - truth), (1 - delta) * truth), "never": (0.0, delta)}  # fmt: skip
        chances = list(law.values())  # by falling ratio: the best score
        area = sum(p * (q / 2 + sum(later[1] for later in chances[at + 1 :])) for at, (p, q) in enumerate(chances))
        assert area == pytest.approx(largest_auc(epsilon, delta))
        assert largest_auc(1.01 * epsilon, delta) > area > largest_auc(0.99 * epsilon, delta)


def flipped(epsilon: float, runs: int = 6, size: int = 400) -> list[tuple[ScoredPairs, ScoredPairs]]:
    """Return runs whose only signal is each coin under randomised response, and real pairs with the same."""
    rng, truth = np.random.default_rng(7), math.exp(epsilon) / (1 + math.exp(epsilon))
    found = []
    for _ in range(runs):
        both = []
        for _ in range(2):
            linked = rng.random(size) < 0.5
            told = np.where(rng.random(size) < truth, linked, ~linked)[:, None].astype(float)
            signals = {PUBLIC: rng.random((size, 1)), SIMILAR: told}
            both.append(ScoredPairs(signals, linked, np.arange(size) % 2 == 0))
        found.append((both[0], both[1]))
    return found


def row_of(epsilon: float, claimed: Level) -> RebuildRow:
    return rebuild_row("made", flipped(epsilon), claimed, Effort(rows=1))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_lower_bound_is_below_the_true_loss_and_near_it(epsilon: float) -> None:
    row = row_of(epsilon, Level("bounded", epsilon))
    assert row.passed is True and row.lower_bound is not None and epsilon - 0.7 < row.lower_bound <= epsilon
    share, most = row.right, row.largest_right
    assert share is not None and most is not None and row.largest_auc == most
    assert abs(share - most) < 5 * math.sqrt(0.25 / row.guesses)  # beyond one time in a million
    assert np.mean(row.coin_aucs) == pytest.approx(most, abs=0.07)
    assert np.mean(row.aucs[PUBLIC]) == pytest.approx(0.5, abs=0.07) and np.mean(row.aucs[ALL]) > 0.55


def test_a_claim_that_is_too_small_fails() -> None:
    assert row_of(2.0, Level("bounded", 1.0)).passed is False
    assert row_of(2.0, Level("not asked")).passed is False  # no edge was asked: its loss is 0


def test_nothing_is_judged_without_a_bound_or_with_a_delta() -> None:
    open_ = row_of(2.0, Level("unprotected"))
    assert open_.passed is None and open_.claimed is None and open_.largest_auc is None
    row = row_of(2.0, Level("bounded", 0.1, 1e-5))
    assert row.passed is None and row.largest_auc == largest_auc(0.1, 1e-5)


def test_pairs_that_teach_are_not_scored() -> None:
    linked, taught = np.array([True, False] * 4), np.arange(8) < 4
    pairs = ScoredPairs({PUBLIC: linked[:, None].astype(float)}, linked, taught)
    assert pairs.auc(pairs.scores(PUBLIC)) == 1
    assert ScoredPairs(pairs.signals, np.where(taught, ~linked, linked), taught).auc(pairs.scores(PUBLIC)) == 1
    hidden = ScoredPairs(pairs.signals, np.where(taught, linked, True), taught)
    assert np.array_equal(hidden.scores(PUBLIC), pairs.scores(PUBLIC))  # what is scored is not read
    assert not discriminant(np.ones((4, 1)), np.ones(4, bool), np.ones(4, bool)).any()  # one kind teaches nothing


def test_signals_by_hand() -> None:
    log_p = np.log(np.array([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]]))
    pairs = np.array([[0, 1], [0, 2]])
    same, other = similarity(log_p, pairs)
    assert same == pytest.approx([1.0, 0.0]) and other == pytest.approx([0.32 / 0.68, -math.sqrt(2) * math.log(4)])
    features = csr_array(np.array([[1.0, 0], [1, 1], [0, 0]]))
    labels = np.array([1, -1, 0])
    assert public_signals(labels, features, np.array([[0, 1], [0, 2]])) == pytest.approx(
        np.array([[0, 0, math.sqrt(0.5)], [0, 1, 0]])
    )
    assert public_signals(labels, None, pairs).shape == (2, 2)
