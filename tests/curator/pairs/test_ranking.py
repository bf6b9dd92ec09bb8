"""AUC, its standard error, and average precision against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from curator.pairs.ranking import auc, average_precision, placements


@pytest.mark.parametrize("seed", range(3))
def test_against_all_pairs_of_pairs_with_ties(seed: int) -> None:
    scores = np.random.default_rng(seed).integers(0, 6, 40).astype(float)
    edges, others = scores[:20, None], scores[None, 20:]
    wins = (edges > others) + 0.5 * (edges == others)
    assert auc(scores) == pytest.approx(wins.mean())
    found = placements(scores)
    assert found.mean() == pytest.approx(wins.mean())
    assert found == pytest.approx(wins.mean(axis=1) + wins.mean(axis=0) - wins.mean())


def test_the_standard_error_is_that_of_many_draws() -> None:
    rng, draws, size = np.random.default_rng(1), 400, 100
    found = [np.concatenate([rng.normal(1.0, 1.0, size), rng.normal(0.0, 1.0, size)]) for _ in range(draws)]
    spread = np.std([auc(scores) for scores in found])
    told = np.mean([np.std(placements(scores)) / np.sqrt(size) for scores in found])
    assert told == pytest.approx(spread, rel=5 * np.sqrt(1 / (2 * draws)))


def test_average_precision_by_hand() -> None:
    assert average_precision(np.array([4.0, 3.0, 1.0, 0.0])) == 1.0
    assert average_precision(np.array([0.0, 0.0, 0.0, 0.0])) == 0.5
    assert average_precision(np.array([1.0, 0.0, 3.0, 2.0])) == pytest.approx((1 / 3 + 2 / 4) / 2)
