"""Diffusion over friends: by hand on five people, its limit, who meets in a round, and what an exchange carries."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.devices.data.records import records_by_column
from ldpsim.devices.friends.diffusion import diffuse, friend_pairs, greedy_matching
from tests.devices.friends.test_told_guesses import people

OWN = np.array([[0.6, 0.4], [0.3, 0.7], [0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
LABELS = np.array([0, -1, -1, 1, -1])
PATH = np.array([[0, 1, 2], [1, 2, 3]])  # 0 - 1 - 2 - 3, and person 4 alone
A = 0.9


def run(rounds: int, pairs: np.ndarray = PATH, labels: np.ndarray = LABELS, most: float = 1.0, seed: int = 3):  # type: ignore[no-untyped-def]
    return diffuse(OWN, labels, pairs, rounds=rounds, most_rate=most, restart=1 - A, seed=seed)


def test_five_people_whose_pairs_meet_again_and_again() -> None:
    """The values are the solutions of both systems of equations on the whole graph, solved here by themselves."""
    adjacency = np.zeros((5, 5))
    adjacency[tuple(PATH)] = adjacency[tuple(PATH[::-1])] = 1
    size = adjacency.sum(axis=1) + 1
    known = LABELS >= 0
    errors = np.where(known[:, None], np.eye(2)[np.maximum(LABELS, 0)] - OWN, 0)
    spread = (adjacency + np.eye(5)) / size  # column v over d_v + 1
    free = [1, 2]  # person 4 hears nothing, and has no error
    errors[free] = np.linalg.solve(np.eye(2) - spread[np.ix_(free, free)], spread[free][:, known] @ errors[known])
    smooth = (adjacency + np.eye(5)) / np.sqrt(np.outer(size, size))
    values = np.linalg.solve(np.eye(5) - A * smooth, (1 - A) * (OWN + errors))
    values[4] = OWN[4]  # who has no friend exchanges nothing
    found = run(2000)
    assert np.abs(found.values - values).max() < 1e-9
    assert found.values.argmax(axis=1).tolist() == [1, 1, 1, 1, 1]


def test_one_exchange_by_hand() -> None:
    """Persons 0 and 1 meet once. Person 0 has a label, so its first value is the label."""
    pair, label = np.array([[0], [1]]), np.array([0, -1, -1, -1, -1])
    seed = next(seed for seed in range(100) if run(1, pair, label, seed=seed).exchanges)
    values = run(1, pair, label, seed=seed).values
    error = 0 / 2 + np.array([0.4, -0.4]) / 2  # of person 1, from e_0 = (1, 0) - (.6, .4)
    zero, one = np.array([1.0, 0.0]), OWN[1]
    assert np.allclose(values[1], 0.1 * (OWN[1] + error) + A / np.sqrt(2) * (one + zero) / np.sqrt(2))
    assert np.allclose(values[0], 0.1 * zero + A / np.sqrt(2) * (zero + one) / np.sqrt(2))
    assert np.array_equal(values[2:], OWN[2:])


def test_values_reach_people_several_friendships_away_and_repeat() -> None:
    """Values of person 3 depend on features of person 0, who is no friend of person 3, and change between exchanges."""
    other = OWN.copy()
    other[0] = [0.1, 0.9]
    nobody = np.full(5, -1)
    early, late = (run(rounds, labels=nobody).values[3] for rounds in (20, 200))
    changed = diffuse(other, nobody, PATH, rounds=200, most_rate=1.0, restart=1 - A, seed=3).values[3]
    assert not np.allclose(late, changed) and not np.allclose(early, late)


def test_a_friendship_of_one_side_carries_nothing() -> None:
    """Person 4 lists person 0, who does not list 4."""
    everybody = records_by_column(people())
    pairs = friend_pairs(everybody)
    assert sorted(map(tuple, pairs.T.tolist())) == [(0, 1), (0, 3), (1, 2), (2, 3), (2, 4)]


@pytest.mark.parametrize("seed", range(20))
def test_who_meets_is_who_comes_first(seed: int) -> None:
    """As if the pairs were tried one after the other in their order."""
    random = np.random.default_rng(seed)
    pairs = np.array([random.choice(12, 2, replace=False) for _ in range(30)]).T
    order = random.permutation(30)
    busy, expected = set[int](), np.zeros(30, np.bool_)
    for place in np.argsort(order):
        ends = set(pairs[:, place].tolist())
        expected[place] = not ends & busy
        busy |= ends if expected[place] else set()
    assert np.array_equal(greedy_matching(pairs, order, 12), expected)


def test_a_pair_meets_as_often_as_its_two_chances_say() -> None:
    """Two independent uniform chances in [0, .1]: .1 - .0025 meetings a round, over 400 pairs and 500 rounds."""
    pairs = np.arange(800).reshape(400, 2).T
    own = np.full((800, 2), 0.5)
    found = diffuse(own, np.full(800, -1), pairs, rounds=500, most_rate=0.1, restart=0.1, seed=1)
    mean, tries = 0.1 - 0.0025, 400 * 500
    between = 500 * np.sqrt(400 * 2 * 0.1**2 / 12)  # of the pairs' own chances
    assert abs(found.exchanges - mean * tries) < 5 * np.hypot(np.sqrt(mean * tries), between)
