"""Evidence of pairs, scores of pairs from features, and the prior of an edge."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.links import common_partners as closure
from ldpsim.curator.links.common_partners import closure_score, common_partners
from ldpsim.curator.links.edge_prior import Scored, marginal_log_likelihood, sample_pairs
from ldpsim.curator.links.link_likelihood import PUBLIC_EDGE, LinkLikelihood, public_links
from ldpsim.curator.links.pair_scores import public_scores, reported_scores
from ldpsim.curator.reports.feature_bits import FlippedFeatures

NOBODY = np.zeros(0, np.int64)


def evidence_of(reported: tuple[bool, ...], *, one_end: bool, flip: float = 0.2) -> LinkLikelihood:
    return LinkLikelihood(NOBODY, NOBODY, np.array(reported), one_end=one_end, flip=flip)


@pytest.mark.parametrize("one_end", [False, True])
@pytest.mark.parametrize("reported", [(True,) * 5, (True, False, True, True, False), (False,) * 5])
def test_partners_are_counted_by_their_reports(reported: tuple[bool, ...], one_end: bool) -> None:
    evidence = evidence_of(reported, one_end=one_end)
    wanted = np.zeros((5, 3))
    for i, j in combinations(range(5), 2):
        reports = int(reported[j]) + (0 if one_end else int(reported[i]))
        assert evidence.count(np.array([i]), np.array([j]))[0] == reports
        wanted[i, reports] += 1
        wanted[j, reports] += 1
    np.testing.assert_array_equal(evidence.partners, wanted)
    np.testing.assert_allclose(evidence.chance_hits, wanted @ [0, 0.2, 0.04])


@pytest.mark.parametrize("reports", [1, 2])
def test_the_likelihoods_are_those_of_all_bits(reports: int) -> None:
    """Hit, false hit, strength and resolution from every outcome of a pair's reports."""
    flip = 0.2
    evidence = LinkLikelihood(
        np.array([0]), np.array([1]), np.array([reports == 2, True]), one_end=reports == 1, flip=flip
    )
    law = {edge: [(1 - flip) if bit == edge else flip for bit in (0, 1)] for edge in (0, 1)}
    every_one = {edge: law[edge][1] ** reports for edge in (0, 1)}
    assert evidence.hit[reports] == pytest.approx(every_one[1])
    assert evidence.false_hit[reports] == pytest.approx(every_one[0])
    assert evidence.strength[0] == pytest.approx(np.log(every_one[1] / every_one[0]))
    # outside S the mean over no edge of 1 - likelihood ratio is the resolution
    outcomes = [[0], [1]] if reports == 1 else [[0, 0], [0, 1], [1, 0], [1, 1]]
    outside = [bits for bits in outcomes if not all(bits)]
    chance = {edge: [np.prod([law[edge][bit] for bit in bits]) for bits in outside] for edge in (0, 1)}
    assert evidence.resolution == pytest.approx(sum(chance[0]) - sum(chance[1]))


def test_a_public_graph_is_certain() -> None:
    evidence = public_links(4, np.array([[2, 1], [0, 3]]))
    assert evidence.left.tolist() == [0, 1] and evidence.right.tolist() == [2, 3]
    assert evidence.strength.tolist() == [PUBLIC_EDGE, PUBLIC_EDGE]
    assert evidence.hits.tolist() == [1, 1, 1, 1] and not evidence.chance_hits.any()


FLIP = 0.1


def _evidence(left: np.ndarray, right: np.ndarray, n: int, **more: object) -> LinkLikelihood:
    return LinkLikelihood(left, right, np.ones(n, np.bool_), one_end=False, flip=FLIP, **more)  # type: ignore[arg-type]


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
    assert marginal_log_likelihood(np.array([e]), ones, zeros)[0] == pytest.approx(wanted)


def test_a_sampled_pair_stands_for_as_many_as_say_nothing() -> None:
    """The weights add up to the expected number of pairs with zeros alone, over all outcomes."""
    for reports, one_end in ((2, False), (1, True)):
        evidence = LinkLikelihood(
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


N = 7


def _weights(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    half = np.triu(rng.random((N, N)) * (rng.random((N, N)) < 0.5), 1)
    return np.asarray(half + half.T)


@pytest.mark.parametrize("at_once", [1, 5, 1 << 22])
def test_it_is_the_sum_over_all_third_people(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closure, "_ENTRIES_AT_ONCE", at_once)
    dense = _weights(0)
    left, right = np.array(list(combinations(range(N), 2))).T
    wanted = [
        sum(dense[i, k] * dense[j, k] for k in range(N) if k not in (i, j)) for i, j in zip(left, right, strict=True)
    ]
    np.testing.assert_allclose(common_partners(csr_array(dense), left, right), wanted)
    np.testing.assert_allclose(closure_score(csr_array(dense), left, right), np.log(np.array(wanted) + 0.02))


LEFT, RIGHT = np.array([0, 0, 1]), np.array([1, 2, 2])


def test_rows_of_both_signs_keep_theirs() -> None:
    rows = np.array([[1.0, 0.0], [-0.6, 0.8], [0.0, -1.0]], np.float32)
    for form in (rows, csr_array(rows)):
        found = public_scores(form)(LEFT, RIGHT)
        np.testing.assert_allclose(found[:, 0], [-0.6, 0, -0.8], atol=1e-6)
        assert np.isfinite(found).all()


def test_the_product_of_debiased_bits_is_unbiased_over_all_noise() -> None:
    """Every outcome of two people's four bits."""
    flip, truth = 0.2, np.array([[1, 1, 1, 0], [0, 1, 1, 1]])
    total = 0.0
    for bits in product([0, 1], repeat=8):
        drawn = np.array(bits).reshape(2, 4)
        chance = np.where(drawn == truth, 1 - flip, flip).prod()
        scores = reported_scores(
            FlippedFeatures(np.packbits(drawn.astype(bool), axis=1), 4, flip, np.ones(2, np.bool_))
        )
        squares = drawn.sum(axis=1) - 4 * flip
        lengths = np.sqrt(np.maximum(squares, max(0.3 * np.median(squares), 1)))
        total += chance * scores(np.array([0]), np.array([1]))[0, 0] * lengths.prod()
    assert total == pytest.approx((1 - 2 * flip) ** 2 * 2)
