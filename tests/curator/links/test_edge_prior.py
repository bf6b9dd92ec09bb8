from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit

from ldpsim.curator.links.edge_prior import LinkEvidence, Scored, fit_edge_prior, marginal_likelihood, sample_pairs

FLIP = 0.1


def _evidence(left: np.ndarray, right: np.ndarray, n: int, **more: object) -> LinkEvidence:
    return LinkEvidence(left, right, np.ones(n, np.bool_), one_end=False, flip=FLIP, **more)  # type: ignore[arg-type]


def test_the_gradient_is_that_of_finite_differences() -> None:
    rng = np.random.default_rng(0)
    ones, zeros = (
        Scored(rng.normal(size=(k, 2)), rng.normal(size=k), sign * rng.uniform(1, 4, k), rng.uniform(1, 3, k))
        for k, sign in ((7, 1), (9, -1))
    )
    at = np.array([-2.0, 0.5, 1.0])
    _, gradient = marginal_likelihood(at, ones, zeros)
    numeric = approx_fprime(at, lambda x: marginal_likelihood(x, ones, zeros)[0], 1e-6)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4)


def test_it_is_the_probability_of_the_bits() -> None:
    """ln Pr[bits] - ln Pr[bits | no edge] of every pair, over all bits of four people who report both ends."""
    n, prior = 4, 0.2
    e = np.log(prior / (1 - prior))
    pairs = np.array(list(combinations(range(n), 2))).T
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (pairs.shape[1], 2))
    law = {edge: np.where(bits == edge, 1 - FLIP, FLIP).prod(axis=1) for edge in (0, 1)}
    wanted = np.log((prior * law[1] + (1 - prior) * law[0]) / law[0]).sum()
    inside, nothing = bits.all(axis=1), ~bits.any(axis=1)
    evidence = _evidence(*pairs[:, inside], n)
    ones = Scored(np.zeros((inside.sum(), 0)), np.zeros(inside.sum()), evidence.strength, np.ones(inside.sum()))
    count = int(nothing.sum())
    zeros = Scored(np.zeros((count, 0)), np.zeros(count), np.full(count, -2 * evidence.bit_strength), np.ones(count))
    assert marginal_likelihood(np.array([e]), ones, zeros)[0] == pytest.approx(wanted)


def test_a_sampled_pair_stands_for_as_many_as_say_nothing() -> None:
    """The weights add up to the expected number of pairs with zeros alone, over all outcomes."""
    for reports, one_end in ((2, False), (1, True)):
        evidence = LinkEvidence(
            np.zeros(0, np.int64), np.zeros(0, np.int64), np.ones(5, np.bool_), one_end=one_end, flip=FLIP
        )
        sample = sample_pairs(evidence, seed=0, size=500)
        chance = sum(
            float(np.prod(np.where(bits, FLIP, 1 - FLIP)))
            for bits in product([0, 1], repeat=reports) if not any(bits)
        )  # fmt: skip
        assert sample.weight.sum() == pytest.approx(10 * chance)
        assert (sample.left < sample.right).all() and np.unique(sample.left * 5 + sample.right).size == 10
        np.testing.assert_allclose(sample.strength, reports * np.log((1 - FLIP) / FLIP))


def test_noisy_reports_give_the_true_prior_back() -> None:
    """10 standard errors of a count of 1,500 edges are .26 of a log-odds; without the score they are 2 away."""
    n, rng = 500, np.random.default_rng(2)
    left, right = np.triu_indices(n, 1)
    score = rng.normal(size=len(left))
    edge = rng.random(len(left)) < expit(-5.5 + 1.5 * score)
    inside = rng.random(len(left)) < np.where(edge, (1 - FLIP) ** 2, FLIP**2)
    evidence = _evidence(left[inside], right[inside], n)
    sample = sample_pairs(evidence, seed=3, size=60_000)
    places = sample.left * n - sample.left * (sample.left + 1) // 2 + sample.right - sample.left - 1
    ones = Scored(score[inside, None], np.zeros(inside.sum()), evidence.strength, np.ones(inside.sum()))
    zeros = Scored(score[places, None], np.zeros(len(places)), -sample.strength, sample.weight)
    prior = fit_edge_prior(ones, zeros, 0.01)
    table = np.array([[0.0], [1.0]])
    intercept, at_one = prior.log_odds(table)
    assert abs(intercept + 5.5) < 0.26 and abs(at_one - intercept - 1.5) < 0.26
    again = fit_edge_prior(ones, zeros, 0.01, prior)
    np.testing.assert_allclose(again.log_odds(table), [intercept, at_one], atol=1e-2)
