"""Means, spreads and intervals against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from strategies.results.averages import Interval, gain, mean, over_seeds, spread
from strategies.results.outcome import Score


def scores(*tests: float | None) -> list[Score]:
    return [Score(test) for test in tests]


def one(right: np.ndarray) -> list[Score]:
    return [Score(float(np.mean(right)), right.astype(bool))]


def test_mean_and_sample_deviation() -> None:
    assert mean([0.2, None, 0.4]) == pytest.approx(0.3) and mean([None]) is None
    assert spread([0.2, 0.4, 0.9]) == pytest.approx(np.std([0.2, 0.4, 0.9], ddof=1)) and spread([0.2]) is None
    assert spread([0.2, None, 0.4]) == pytest.approx(0.02**0.5)


def test_several_repeats_give_students_interval_of_the_paired_differences() -> None:
    ours, theirs = np.array([0.7, 0.8, 0.6, 0.9, 0.7]), np.array([0.65, 0.78, 0.5, 0.88, 0.66])
    found = gain(scores(*ours), scores(*theirs))
    expected = stats.ttest_1samp(ours - theirs, 0).confidence_interval(0.95)
    assert found is not None and found.value == pytest.approx(np.mean(ours - theirs))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    unpaired = stats.ttest_ind(ours, theirs).confidence_interval(0.95)
    assert found.high - found.low < 0.5 * (unpaired.high - unpaired.low)


def test_one_repeat_gives_the_bootstrap_of_the_paired_people() -> None:
    rng = np.random.default_rng(1)
    theirs = rng.random(4000) < 0.6
    ours = np.where(rng.random(4000) < 0.9, theirs, rng.random(4000) < 0.9)  # most people are right in both, or in none
    found = gain(one(ours), one(theirs))
    difference = ours.astype(float) - theirs
    half = 1.959964 * difference.std() / np.sqrt(4000)
    assert found is not None and found.value == pytest.approx(difference.mean())
    # An end of 2,000 draws has a standard error of sqrt(.025 .975 / 2000) / density(1.96), 6% of a standard error.
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half), abs=0.3 * half / 1.96)
    assert found == gain(one(ours), one(theirs))
    unpaired = 1.959964 * np.sqrt((ours.var() + theirs.var()) / 4000)
    assert found.high - found.low < 1.5 * unpaired


def test_few_repeats_have_the_larger_error_of_people_and_repeats() -> None:
    """Student's interval of two repeats is 12.7 standard errors wide on each side and says nothing."""
    right, wrong = np.arange(400) < 320, np.arange(400) < 240

    def score(hits: np.ndarray) -> Score:
        return Score(float(hits.mean()), hits)

    people = np.std(right.astype(int) - wrong) / np.sqrt(400)
    alike = gain([score(right)] * 2, [score(wrong)] * 2)
    assert alike is not None and alike.value == pytest.approx(0.2)
    assert alike.high - alike.value == pytest.approx(1.959964 * people)
    apart = gain([score(right), score(wrong)], [score(wrong)] * 2)
    assert apart is not None and apart.high - apart.value == pytest.approx(1.959964 * 0.2 / 2)


def test_without_people_few_repeats_have_students_interval_within_what_shares_can_differ() -> None:
    found = gain(scores(0.7, 0.9), scores(0.6, 0.6))
    assert found is not None and (found.low, found.high) == (-1, 1)


def test_people_are_paired_where_both_models_have_them() -> None:
    known = one(np.arange(30) % 3 > 0)
    assert gain(known, scores(0.5)) is None and gain(scores(0.5), known) is None


def test_equal_models_differ_by_nothing() -> None:
    right = np.arange(30) % 3 > 0
    found = gain(one(right), one(right))
    assert found is not None and (found.value, found.low, found.high) == (0, 0, 0)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(scores(0.5), scores(0.4)), (scores(None), scores(None)), (scores(None, 0.3), scores(None, 0.2))],
)
def test_no_interval_without_people_to_pair(ours: list[Score], theirs: list[Score]) -> None:
    assert gain(ours, theirs) is None


def test_differences_of_separate_runs_are_joined_by_the_same_rule() -> None:
    one = Interval(0.1, 0.05, 0.15)
    assert over_seeds([one]) is one
    alike = over_seeds([one] * 3)  # runs that agree are no surer than each of them
    assert (alike.value, alike.low, alike.high) == pytest.approx((0.1, 0.05, 0.15))
    apart = over_seeds([Interval(value, value - 0.001, value + 0.001) for value in (0.1, 0.2, 0.3)])
    half = stats.norm.ppf(0.975) * 0.1 / 3**0.5
    assert (apart.value, apart.low, apart.high) == pytest.approx((0.2, 0.2 - half, 0.2 + half))
    many = [0.1, 0.12, 0.09, 0.2, 0.15]
    expected = stats.ttest_1samp(many, 0).confidence_interval(0.95)
    found = over_seeds([Interval(value, value - 0.5, value + 0.5) for value in many])
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
