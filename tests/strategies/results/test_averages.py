"""Means, spreads and intervals against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ldpsim.strategies.results.averages import (
    Interval,
    gain,
    margin,
    mean,
    mean_interval,
    over_repeats,
    share_interval,
    spread,
)
from ldpsim.strategies.results.outcome import Score


def scores(*tests: float | None) -> list[Score]:
    return [Score(test) for test in tests]


def one(right: np.ndarray) -> list[Score]:
    return [Score(float(np.mean(right)), right.astype(bool))]


def test_mean_and_sample_deviation() -> None:
    assert mean([0.2, None, 0.4]) == pytest.approx(0.3) and mean([None]) is None
    assert spread([0.2, 0.4, 0.9]) == pytest.approx(np.std([0.2, 0.4, 0.9], ddof=1)) and spread([0.2]) is None
    assert spread([0.2, None, 0.4]) == pytest.approx(0.02**0.5)


@pytest.mark.parametrize(("right", "people"), [(0, 5), (5, 5), (1, 1), (3, 10), (400, 1000)])
def test_the_interval_of_a_share_is_wilsons(right: int, people: int) -> None:
    found = share_interval(right, people)
    expected = stats.binomtest(right, people).proportion_ci(0.95, method="wilson")
    assert found.value == right / people
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_the_interval_of_a_mean_of_shares_ends_at_0() -> None:
    """The mean is .07, and Student's half width 4.302653 * .112694 / sqrt(3) = .28."""
    found = mean_interval([0.0, 0.01, 0.2])
    assert found is not None and (found.value, found.low) == (pytest.approx(0.07), 0.0)
    assert found.high == pytest.approx(0.07 + 4.302653 * np.std([0.0, 0.01, 0.2], ddof=1) / 3**0.5)


def test_differences_with_known_errors_follow_the_rule_of_gain() -> None:
    one_repeat = over_repeats([0.1], [0.02], upper_tail=0.001)
    assert (one_repeat.low, one_repeat.high) == pytest.approx((0.1 - 1.959964 * 0.02, 0.1 + 3.090232 * 0.02))
    few_repeats = over_repeats([0.1, 0.1, 0.1], [0.02, 0.03, 0.04])
    assert few_repeats.high == pytest.approx(0.1 + 1.959964 * 0.03)
    many = over_repeats([0.1, 0.2, 0.3, 0.2, 0.1], [9.0] * 5)
    expected = stats.ttest_1samp([0.1, 0.2, 0.3, 0.2, 0.1], 0).confidence_interval(0.95)
    assert (many.low, many.high) == pytest.approx((expected.low, expected.high))


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


def test_the_interval_of_one_run_is_that_of_2000_draws_of_its_people() -> None:
    ours, theirs = np.repeat([1, 0, 1, 0], [4, 1, 3, 2]), np.repeat([0, 1, 1, 0], [4, 1, 3, 2])
    drawn = np.random.default_rng(20260).multinomial(10, [0.1, 0.5, 0.4], size=2000)
    low, high, higher = np.quantile((drawn[:, 2] - drawn[:, 0]) / 10, (0.025, 0.975, 0.999))
    assert gain(one(ours), one(theirs)) == Interval(pytest.approx(0.3), low, high)
    assert gain(one(ours), one(theirs), upper_tail=0.001) == Interval(pytest.approx(0.3), low, higher)


def test_few_repeats_have_the_wider_interval_of_people_and_repeats() -> None:
    right, wrong = np.arange(400) < 320, np.arange(400) < 240

    def score(hits: np.ndarray) -> Score:
        return Score(float(hits.mean()), hits)

    people = np.std(right.astype(int) - wrong) / np.sqrt(400)
    alike = gain([score(right)] * 3, [score(wrong)] * 3)
    assert alike is not None and alike.value == pytest.approx(0.2)
    assert alike.high - alike.value == pytest.approx(1.959964 * people)
    apart = gain([score(right), score(right), score(wrong)], [score(wrong)] * 3)
    assert apart is not None and apart.high - apart.value == pytest.approx(stats.t.ppf(0.975, 2) * 0.2 / 3)


# ---- the best of several null models ---------------------------------------------------


def test_the_tail_of_each_null_model_follows_from_how_alike_they_are() -> None:
    """Equal null models are one; independent ones share the tail as Sidak's rule has it, 1 - .975^(1/k)."""
    rng = np.random.default_rng(3)
    own, first, *others = (one(rng.random(20_000) < 0.7)[0] for _ in range(5))
    alike = margin([own], {"a": [first], "b": [first], "c": [first]})
    assert alike is not None and alike.upper_tail == pytest.approx(0.025, abs=0.002)
    sure = one(np.ones(20_000))[0]  # the differences to it share nothing of a null model
    apart = margin([sure], {str(place): [each] for place, each in enumerate((first, *others))})
    assert apart is not None and apart.upper_tail == pytest.approx(1 - 0.975**0.25, abs=0.001)
    assert margin([own], {"a": [first]}).upper_tail == 0.025  # type: ignore[union-attr]
    unpaired = margin([Score(0.7)] * 5, {"a": [Score(0.6)] * 5, "b": [Score(0.65)] * 5})
    assert unpaired is not None and unpaired.upper_tail == 0.0125
    assert margin([Score(None)], {"a": [Score(None)]}) is None


def test_a_margin_is_above_only_if_it_is_above_each_null_model() -> None:
    """The best one may be known well and another one badly: both ends are the smallest of all."""
    rng = np.random.default_rng(5)
    base = rng.random(400) < 0.6
    close = base.copy()
    close[np.flatnonzero(base)[:8]] = False
    far = rng.permutation(close)
    far[np.flatnonzero(far)[:2]] = False
    found, single = margin(one(base), {"close": one(close), "far": one(far)}), gain(one(base), one(far))
    assert found is not None and single is not None and found.best == "close"
    assert found.interval.low == single.low < 0 < found.interval.value == pytest.approx(0.02)


def test_without_people_few_repeats_have_students_interval_within_what_shares_can_differ() -> None:
    found = gain(scores(0.7, 0.9, 0.1), scores(0.6, 0.6, 0.6))
    assert found is not None and (found.low, found.high) == (-1, 1)
    assert gain(scores(0.7, 0.9), scores(0.6, 0.6)) is None  # two runs tell nothing about their spread


@pytest.mark.parametrize(("first", "second"), [(0.3, 0.3), (0.3, 0.42), (0.1, -0.1)])
def test_two_runs_have_an_interval_over_their_people_alone(first: float, second: float) -> None:
    """Student's interval of two runs is 12.7 standard errors wide to either side, or has no width."""
    assert mean_interval([0.5 + first, 0.5 + second]) is None is mean_interval([0.5])
    rng = np.random.default_rng(3)
    theirs = [rng.random(500) < 0.5 for _ in range(2)]
    ours = [np.where(rng.random(500) < abs(by), by > 0, right)
            for by, right in zip((first, second), theirs, strict=True)]  # fmt: skip
    alone = [over_repeats([np.mean(mine) - np.mean(right)], [np.std(1 * mine - right) / 500**0.5])
             for mine, right in zip(ours, theirs, strict=True)]  # fmt: skip
    found = gain([one(mine)[0] for mine in ours], [one(right)[0] for right in theirs])
    assert found is not None and found.value == pytest.approx(np.mean([each.value for each in alone]))
    assert (found.low, found.high) == pytest.approx((min(x.low for x in alone), max(x.high for x in alone)))
    assert 0 < found.high - found.low < 0.35
