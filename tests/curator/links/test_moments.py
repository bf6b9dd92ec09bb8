from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import pytest

from ldpsim.curator.links.edge_prior import LinkEvidence, moments, public_links

N = 4
PAIRS = np.array(list(combinations(range(N), 2))).T
EDGES = {(0, 1), (1, 2), (1, 3)}
REPORTED = {"all": (True,) * N, "one silent": (True, True, True, False)}


def outcomes(reported: tuple[bool, ...], one_end: bool, flip: float = 0.3) -> Iterator[tuple[float, LinkEvidence]]:
    """Yield every S that the noise can make, with its probability."""
    empty = LinkEvidence(PAIRS[0], PAIRS[1], np.array(reported), one_end=one_end, flip=flip)
    reports = empty.reports(*PAIRS)
    edge = np.array([(i, j) in EDGES for i, j in PAIRS.T])
    chance = np.where(edge, empty.hit[reports], empty.false_hit[reports])
    for inside in product([False, True], repeat=PAIRS.shape[1]):
        found = np.array(inside)
        probability = float(np.prod(np.where(found, chance, 1 - chance)))
        if probability > 0:
            yield probability, LinkEvidence(*PAIRS[:, found], np.array(reported), one_end=one_end, flip=flip)


@pytest.mark.parametrize("one_end", [False, True])
def test_edges_and_degrees_are_unbiased_over_all_noise(one_end: bool) -> None:
    edges, degree, second = 0.0, np.zeros(N), np.zeros(N)
    for probability, evidence in outcomes(REPORTED["all"], one_end):
        found = moments(evidence)
        # the first person has no list of its own with one end, but all others report about it
        edges += probability * found.edges
        degree += probability * found.degree
        second += probability * found.degree**2
    assert edges == pytest.approx(3)
    np.testing.assert_allclose(degree, [1, 3, 1, 1])
    reports = 1 if one_end else 2
    hit, false_hit = 0.7**reports, 0.3**reports
    d = np.array([1, 3, 1, 1])
    wanted = (d * hit * (1 - hit) + (N - 1 - d) * false_hit * (1 - false_hit)) / 0.4**2
    np.testing.assert_allclose(second - degree**2, wanted)


def test_pairs_without_a_report_count_as_the_others() -> None:
    total = sum(
        probability * moments(evidence).degree[0] for probability, evidence in outcomes((True, True, True, False), True)
    )
    # person 0 has reports about the pairs with 1 and 2, and one of these two is an edge
    assert total == pytest.approx(1 * 3 / 2)


def test_the_own_hit_is_taken_out() -> None:
    evidence = public_links(4, np.array([[0, 1, 1], [1, 2, 3]]))
    found = moments(evidence)
    assert found.edges == 3 and found.degree.tolist() == [1, 3, 1, 1] and found.step.tolist() == [1, 1, 1, 1]
    without = found.activity_without(np.array([1, 1, 0]))
    weight = found.weight
    np.testing.assert_allclose(without[:2], 1 + weight[1] * (2 / 1.5 - 1))
    assert without[2] == pytest.approx(max(0.25, 1 - weight[0]))
    assert (weight == 1).all()  # no noise, nothing to shrink


def test_noise_alone_is_no_spread() -> None:
    """A graph without edges: all degrees are noise, so everybody is nearly average."""
    n, rng = 300, np.random.default_rng(0)
    left, right = np.nonzero(np.triu(rng.random((n, n)) < 0.05**2, 1))
    found = moments(LinkEvidence(left, right, np.ones(n, np.bool_), one_end=False, flip=0.05))
    assert found.weight.max() < 0.1 and found.mean > 0
