"""Bounds from trials, distributions by enumeration, and guesses from repeated reports."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from ldpsim.curator.attacks.bounds import clopper_pearson, lower_bound
from ldpsim.curator.attacks.distributions import (
    NotWalkable,
    OutputDistribution,
    delta_at,
    epsilon_at,
    output_distribution,
    worst_ratio,
)
from ldpsim.curator.attacks.mechanism_audit import Effort
from ldpsim.curator.attacks.recovery import (
    attack_edges,
    bit_recovery,
    constant_guess,
    label_recovery,
    recovered_bits,
    recovered_labels,
    recovered_rare,
)
from ldpsim.curator.attacks.released_model import InferenceRow, inference_row, ratios
from ldpsim.devices.mechanisms import GRR, Degree, discrete_laplace
from ldpsim.devices.mechanisms.exact_loss import ONE
from tests.devices.mechanisms.one import drawn


@pytest.mark.parametrize("error", [0.05, 1e-3])
def test_limits_miss_no_more_often_than_they_may(error: float) -> None:
    """Exact: the chance of every count at every probability of a grid."""
    trials = 40
    limits = [clopper_pearson(hits, trials, error) for hits in range(trials + 1)]
    for p in np.linspace(0.01, 0.99, 41):
        chance = binom.pmf(np.arange(trials + 1), trials, p)
        assert sum(c for c, (low, _) in zip(chance, limits, strict=True) if low > p) <= error
        assert sum(c for c, (_, high) in zip(chance, limits, strict=True) if high < p) <= error


def test_reports_give_a_bound_below_the_loss_and_near_it() -> None:
    rng = np.random.default_rng(0)
    p = 1 / (1 + math.exp(2))
    one, other = (list(rng.random(40_000) < q) for q in (1 - p, p))
    assert 1.7 < lower_bound(one, other, error=1e-6) < 2
    assert lower_bound(one, one, error=1e-6) == 0.0
    # what never happens on one side is bounded by the trials alone
    assert 5 < lower_bound(["a"] * 4000, ["b"] * 4000, error=1e-6) < math.log(4000)
    assert lower_bound(one, other, error=1e-6, delta=0.5) < lower_bound(one, other, error=1e-6)


def test_false_alarms() -> None:
    """At an error of 5 %, 300 bounds on a loss of 1: the expected number above it is 15 at most; 40 has chance 1e-7."""
    rng = np.random.default_rng(5)
    p = 1 / (1 + math.e)
    above = 0
    for _ in range(300):
        one, other = (rng.random(400) < q for q in (1 - p, p))
        above += lower_bound(one.tolist(), other.tolist(), error=0.05) > 1
    assert above < 40


def test_a_walk_gives_exact_fractions() -> None:
    grr = GRR.from_epsilon(1.0, categories=3)
    of_one = output_distribution(lambda noise: [int(drawn(grr, 1, noise))])
    assert of_one.chances == {
        1: Fraction(ONE - grr.lie, ONE),
        0: Fraction(grr.lie, 2 * ONE),
        2: Fraction(grr.lie, 2 * ONE),
    }
    of_zero = output_distribution(lambda noise: [int(drawn(grr, 0, noise))])
    assert worst_ratio(of_one, of_zero) == pytest.approx(1.0, abs=1e-12)


def test_a_bisection_is_the_discrete_laplace_distribution() -> None:
    degree = Degree.from_epsilon(1.0, n=4)
    noisy = output_distribution(lambda noise: degree.draw(np.full((len(noise), 1), 2), noise)[:, 0].tolist())
    assert noisy.lost < 2**-19 * math.e
    for outcome, chance in noisy.chances.items():
        stated = discrete_laplace.log_probability(np.array([outcome - 2]), degree.t, degree.s)
        assert math.log(chance) == pytest.approx(stated, abs=1e-9)
    assert len(noisy.chances) > 24


def test_what_cannot_be_walked_through_says_so() -> None:
    with pytest.raises(NotWalkable, match="several words"):
        output_distribution(lambda noise: [noise.next_draw().numbers(2, 8).tobytes()])
    with pytest.raises(NotWalkable, match="more than"):
        output_distribution(lambda noise: [noise.bernoulli(ONE // 2, 12).tobytes()], most=100)
    with pytest.raises(NotWalkable, match="more than"):
        output_distribution(lambda noise: noise.next_draw().numbers(1, 8)[:, 0].tolist())


def test_ratios_and_deltas() -> None:
    first = OutputDistribution({"a": Fraction(3, 4), "b": Fraction(1, 4)})
    second = OutputDistribution({"a": Fraction(1, 4), "b": Fraction(3, 4)})
    assert worst_ratio(first, second) == pytest.approx(math.log(3))
    assert delta_at(first, second, 0.0) == pytest.approx(0.5)
    assert epsilon_at(first, second, 0.25) == pytest.approx(math.log(2))
    assert epsilon_at(first, second, 0.5) == 0.0
    assert worst_ratio(first, OutputDistribution({"a": Fraction(1)})) == math.inf
    assert epsilon_at(first, OutputDistribution({"a": Fraction(1)}), 0.1) == math.inf
    # outside a window there is no more than what was lost there
    assert worst_ratio(first, OutputDistribution({"a": Fraction(15, 16)}, lost=1 / 16)) == pytest.approx(math.log(4))


def test_a_tie_of_bits_counts_half_and_a_tie_of_k_labels_one_kth() -> None:
    odds, truth = np.array([[2.0, -1.0, 1e-12]]), np.array([[True, True, True]])
    assert recovered_bits(odds, truth) == 0.5 and recovered_bits(odds, truth, np.array([[True, False, False]])) == 1
    log_likelihoods = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 1.0 + 1e-12], [0.0, 0.0, 0.0], [5.0, 0.0, 0.0]])
    assert recovered_labels(log_likelihoods, np.array([1, 2, 0, -1])) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


@pytest.mark.parametrize(("epsilon", "asks", "error"), [(0.1, 2167, 0.009974), (1, 23, 0.008732), (5, 1, 0.006693)])
def test_how_often_a_bit_must_be_asked_for_99_percent(epsilon: float, asks: int, error: float) -> None:
    right = 1 / (1 + math.exp(-epsilon))
    assert 1 - bit_recovery(right, asks) == pytest.approx(error, abs=5e-7)
    assert asks == 1 or bit_recovery(right, asks - 2) < 0.99
    assert bit_recovery(right, 2) == pytest.approx(right)  # a coin decides


@pytest.mark.parametrize(("categories", "asks"), [(2, 1), (2, 4), (3, 5), (4, 4), (5, 3)])
def test_labels_by_every_outcome(categories: int, asks: int) -> None:
    truth = math.e / (math.e + categories - 1)
    chances = [truth] + [(1 - truth) / (categories - 1)] * (categories - 1)
    total = 0.0
    for outcome in itertools.product(range(categories), repeat=asks):
        counts = np.bincount(outcome, minlength=categories)
        if counts[0] == counts.max():
            total += math.prod(chances[c] for c in outcome) / np.count_nonzero(counts == counts.max())
    assert label_recovery(truth, categories, asks) == pytest.approx(total, abs=1e-11)


def test_a_label_is_named_where_a_report_outweighs_the_size_of_its_class() -> None:
    counts, truth = np.array([6, 2, 0]), np.array([0, 1, 1, 1])
    log_likelihoods = np.array([[0.0, 0.0, 0.0], [0.0, 1.09, 9.0], [0.0, 1.11, 9.0], [0.0, 0.0, 0.0]])  # ln 3 = 1.0986
    assert recovered_labels(log_likelihoods, truth, counts) == 2 / 4  # of the third, and of the first by its size
    assert recovered_labels(np.zeros((4, 3)), truth, counts) == 1 / 4 and np.isfinite(log_likelihoods).all()


def test_one_guess_for_all_is_right_as_often_as_its_value_occurs() -> None:
    assert constant_guess([2, 5, 3]) == 0.5 and constant_guess([4]) == 1.0
    assert constant_guess([]) == 0.0  # nothing is guessed


def test_edges_are_guessed_from_both_ends_and_the_density() -> None:
    truth = np.zeros((8, 8), bool)
    truth[np.arange(8), (np.arange(8) + 1) % 8] = True
    truth |= truth.T
    logit = math.log(8 / 20)
    odds = np.zeros((8, 8))
    odds[0, 1], odds[1, 0] = -logit + 1, -0.9  # both ends together say yes, by little
    odds[3, 2], odds[2, 3] = -logit + 1, -1.1
    odds[0, 5] = 9.0  # no edge
    assert attack_edges(odds, truth) == {"edge_precision": 1 / 2, "edge_recall": 1 / 8}
    assert attack_edges(np.zeros((8, 8)), truth) == {"edge_precision": None, "edge_recall": 0.0}
    with pytest.raises(ValueError, match="0 of"):
        attack_edges(np.zeros((3, 3)), np.zeros((3, 3), bool))


def test_the_rarer_value_is_named_where_a_report_outweighs_the_prior() -> None:
    truth = np.array([[True, False, False, False]] * 2)  # logit of the prior: -ln 3 = -1.0986
    odds = np.array([[1.09, 9.0, 0.0, 0.0], [1.11, 0.0, -9.0, 0.0]])
    assert recovered_rare(odds, truth) == 1 / 2 and recovered_rare(-odds, ~truth) == 1 / 2
    assert recovered_rare(np.zeros((2, 4)), truth) == recovered_rare(np.zeros((2, 4)), ~truth) == 0
    assert recovered_rare(odds, np.zeros((2, 4), bool)) is None  # no value is rare


EFFORT = Effort(rows=1)


def attacked(signals: np.ndarray, coins: np.ndarray, claimed: float | None = 1.0, delta: float = 0.0) -> InferenceRow:
    return inference_row("made", "label", [signals], coins, EFFORT, claimed=claimed, delta=delta)


def flipped(epsilon: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a coin under randomised response with epsilon as the signal, and the coin; 60 runs, 40 targets."""
    rng = np.random.default_rng(seed)
    coins = rng.random((60, 40)) < 0.5
    keep = rng.random(coins.shape) < math.exp(epsilon) / (1 + math.exp(epsilon))
    return np.where(keep, coins, ~coins).astype(float), coins


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_bound_is_below_the_true_loss_and_near_it(epsilon: float) -> None:
    row = attacked(*flipped(epsilon), claimed=epsilon)
    assert row.passed is True and row.lower_bound is not None
    assert max(0.0, epsilon - 0.6) <= row.lower_bound <= epsilon
    assert row.right == pytest.approx(row.largest_right, abs=5 * math.sqrt(0.25 / row.guesses))


def test_of_two_ways_to_apply_a_model_the_stronger_one_attacks() -> None:
    signals, coins = flipped(2.0)
    nothing, other = (rng.random(coins.shape) for rng in map(np.random.default_rng, (1, 2)))
    alone = attacked(signals, coins, claimed=2.0)
    for ways in ([nothing, signals], [signals, nothing]):
        assert inference_row("made", "label", ways, coins, EFFORT, claimed=2.0) == alone
    assert inference_row("made", "label", [nothing, other], coins, EFFORT, claimed=2.0).lower_bound == 0


def test_a_claim_that_is_too_small_fails() -> None:
    assert attacked(*flipped(2.0), claimed=1.0).passed is False


def test_nothing_is_judged_without_a_bound_or_with_a_delta() -> None:
    assert attacked(*flipped(2.0), claimed=None).passed is None
    assert attacked(*flipped(2.0), delta=1e-5).passed is None


def test_a_target_that_is_never_in_has_the_mean_of_all_runs() -> None:
    """The likelihood ratio of two normal distributions with one variance, target by target."""
    signals = np.array([[1.0, 4.0, 2.0], [3.0, 1.0, 6.0], [2.0, 0.0, 1.0]])
    inside = np.array([[True, True, False], [False, False, False], [True, False, False]])
    attacked = np.array([[1.5, 3.0, 5.0]])
    of_in, of_out = np.array([1.5, 4.0, 3.0]), np.array([3.0, 0.5, 3.0])
    variance = np.mean((signals - np.where(inside, of_in, of_out)) ** 2)
    expected = (of_in - of_out) * (attacked - (of_in + of_out) / 2) / variance
    np.testing.assert_allclose(ratios(signals, inside, attacked), expected)
