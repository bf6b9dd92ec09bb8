"""Uniform integers and 64-bit words from the keystream."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from ldpsim.devices.noise import NoiseStream

KEY = bytes(range(32))


class Words(NoiseStream):
    """A stream whose upper words are given."""

    def __init__(self, words: list[int]) -> None:
        super().__init__(KEY)
        self.given = words

    def _draw(self, lane: int, size: int) -> np.ndarray:
        taken, self.given = self.given[:size], self.given[size:]
        assert len(taken) == size
        return np.array(taken, np.uint32)


def test_words_beyond_the_last_multiple_are_drawn_again() -> None:
    top = (1 << 32) - 1
    assert Words([5, top, 7, 9]).uniform_integers(3, 3).tolist() == [2, 0, 1]  # 2**32 - 1 = 3k: taken out once
    assert Words([top, top, top - 1]).uniform_integers(3, 1).tolist() == [(top - 1) % 3]
    assert Words([top]).uniform_integers(1 << 32, 1).tolist() == [top]
    assert Words([top, 6]).uniform_integers(np.array([1, 5]), 2).tolist() == [0, 1]
    assert Words([]).uniform_integers(9, 0).tolist() == []


@pytest.mark.parametrize("bound", [2, 3, 10, (1 << 31) + 1])
def test_integers_are_uniform(bound: int) -> None:
    drawn = NoiseStream(KEY).uniform_integers(bound, 40_000)
    cells = np.bincount(drawn * min(bound, 10) // bound, minlength=min(bound, 10))
    assert drawn.min() >= 0 and drawn.max() < bound
    expected = 40_000 / len(cells)
    assert chi2.sf(((cells - expected) ** 2 / expected).sum(), len(cells) - 1) > 1e-6


def test_the_modulo_alone_is_biased_and_found_out() -> None:
    """Named broken variant: with a bound of 3 * 2**30 a third of the range would come twice as often."""
    bound = 3 << 30
    words = NoiseStream(KEY).words(40_000) >> np.uint64(32)
    cells = np.bincount((words % bound * 3 // bound).astype(int), minlength=3)
    assert chi2.sf(((cells - 40_000 / 3) ** 2 / (40_000 / 3)).sum(), 2) < 1e-100
    good = np.bincount(NoiseStream(KEY).uniform_integers(bound, 40_000) * 3 // bound, minlength=3)
    assert chi2.sf(((good - 40_000 / 3) ** 2 / (40_000 / 3)).sum(), 2) > 1e-6


@pytest.mark.parametrize("bound", [0, -1, (1 << 32) + 1, np.array([2, 0])])
def test_bounds_out_of_range(bound: int | np.ndarray) -> None:
    with pytest.raises(ValueError, match="must lie in 1"):
        NoiseStream(KEY).uniform_integers(bound, 2)


def test_words_are_two_words_of_the_keystream() -> None:
    plain = NoiseStream(KEY)._draw(1, 6).tolist()
    assert NoiseStream(KEY).words(3).tolist() == [plain[i] << 32 | plain[i + 1] for i in (0, 2, 4)]


def test_trials_after_integers_still_compare_64_bits() -> None:
    """The lower words keep pace with the upper ones, whatever was drawn in between."""
    mixed, reference = NoiseStream(KEY), NoiseStream(KEY)
    mixed.words(5)
    mixed.uniform_integers(2, 3)
    reference._draw(1, 13)
    upper, lower = reference._draw(1, 4), NoiseStream(KEY)._draw(0, 17)[13:]
    thresholds = np.array([int(u) << 32 | int(v) for u, v in zip(upper, lower, strict=True)], np.uint64)
    thresholds += np.array([0, 1, 0, 1], np.uint64)
    assert mixed.bernoulli(thresholds, 4).tolist() == [False, True, False, True]
