"""Queries and released labels.

It covers ``ldpsim.curator.owner.teachers.answering`` too.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ldpsim.curator.owner.privacy.label import label_probabilities
from ldpsim.curator.owner.teachers.answering import Teaching, log_posteriors, noisy_labels, on_simplex, posteriors
from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.owner.teachers.sage import SageSettings

QUICK = SageSettings(hidden=8, epochs=15)


def teaching(**given: object) -> Teaching:
    values = {"classes": 3, "neighbours": 12, "settings": QUICK, "noise_seed": 4, "training_seed": 5, **given}
    return Teaching(**values)  # type: ignore[arg-type]


def test_people_are_drawn_afresh_for_each_query_and_independently() -> None:
    fresh = teaching(gamma=0.3)
    drawn = np.zeros((200, 500), bool)
    for query in range(200):
        drawn[query, fresh.sample(500, query)] = True
    # sizes vary as a binomial's: a fixed-size sample, the published code's, would not vary at all
    spread = drawn.sum(1).var(ddof=1) / (500 * 0.3 * 0.7)
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], 199) / 199
    assert low < spread < high
    assert abs(drawn.mean() - 0.3) < 5 * np.sqrt(0.21 / drawn.size)
    once = teaching(sampling="once")
    assert np.array_equal(once.sample(500, 0), once.sample(500, 99))
    assert not np.array_equal(fresh.sample(500, 0), fresh.sample(500, 1))


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
def test_the_nearest_people_are_those_of_a_plain_search(private: PlainGraph, public: PlainGraph, distance: str) -> None:
    sampled, point = np.arange(5, 55), public.features[3]
    people = private.features[sampled].astype(float)
    if distance == "euclidean":
        far = ((people - point) ** 2).sum(1)
    else:
        far = 1 - people @ point / np.linalg.norm(people, axis=1) / np.linalg.norm(point)
    found = teaching(distance=distance).nearest(private, sampled, point)
    assert len(found) == 12 and np.all(np.diff(found) > 0)
    chosen = np.isin(sampled, found)
    assert far[chosen].max() <= far[~chosen].min() + 1e-6


def test_a_sample_smaller_than_k_or_empty_gives_a_valid_posterior(private: PlainGraph, public: PlainGraph) -> None:
    queries = [(0, 1), (1, 2)]
    few = posteriors(private, public, queries, teaching(neighbours=1000, gamma=0.5))
    np.testing.assert_allclose(few.sum(1), 1)
    nobody = posteriors(private, public, queries, teaching(gamma=1e-6))
    np.testing.assert_array_equal(nobody, np.full((2, 3), 1 / 3))
    private.labels[:] = -1
    np.testing.assert_array_equal(posteriors(private, public, queries, teaching()), np.full((2, 3), 1 / 3))
    np.testing.assert_array_equal(on_simplex(np.array([np.nan, 1.0])), [0.5, 0.5])


def test_a_query_s_answer_depends_on_its_number_alone(private: PlainGraph, public: PlainGraph) -> None:
    together = posteriors(private, public, [(0, 3), (1, 7), (2, 9)], teaching())
    alone = posteriors(private, public, [(2, 9)], teaching())
    assert together[2].tobytes() == alone[0].tobytes()
    assert posteriors(private, public, [(3, 9)], teaching()).tobytes() != alone.tobytes()


def test_the_labels_follow_the_exact_law() -> None:
    """A sure posterior's label is right with probability A(c, lambda); the broken variant has no noise."""
    count, classes, lambda_ = 20_000, 10, 0.8
    sure = np.tile(np.eye(classes)[4], (count, 1))
    hits = int(np.sum(noisy_labels(sure, lambda_, noise_seed=3) == 4))
    right, wrong = label_probabilities(classes, lambda_)
    low, high = stats.binom.ppf([5e-7, 1 - 5e-7], count, right)
    assert low <= hits <= high
    assert not low <= count * wrong <= high
    # noise on log-softmax flips a sure label almost never: that is why no guarantee covers it
    assert np.mean(noisy_labels(log_posteriors(sure), lambda_, noise_seed=3) == 4) > 0.99


def test_noise_is_drawn_for_each_query_and_each_lambda() -> None:
    flat = np.full((400, 10), 0.1)
    first = noisy_labels(flat, 0.4, noise_seed=1)
    assert np.array_equal(first[:9], noisy_labels(flat[:9], 0.4, noise_seed=1))
    for other in (noisy_labels(flat, 0.8, noise_seed=1), noisy_labels(flat, 0.4, noise_seed=2)):
        assert np.mean(first == other) < 0.25
