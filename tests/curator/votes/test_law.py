"""Law of a vote given the class: counts, prior, and everybody's own label left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ldpsim.curator.votes.law import Ballots, by_class, log_likelihood, places_of
from ldpsim.devices.array_types import DoubleArray, IntArray

WIDTH, CLASSES, KEPT = 3, 4, 0.7


def _votes(people: int, rate: float, seed: int = 0) -> tuple[Ballots, IntArray]:
    """Votes that are the class with this rate, then GRR over three values."""
    rng = np.random.default_rng(seed)
    ranked = rng.permuted(np.tile(np.arange(CLASSES, dtype=np.uint8), (people, 1)), axis=1)
    places = places_of(ranked, WIDTH)
    labels = rng.integers(0, CLASSES, people)
    place = places[np.arange(people), labels]
    votes = np.where((rng.random(people) < rate) & (place < WIDTH), place, rng.integers(0, WIDTH, people))
    reports = np.where(rng.random(people) < KEPT, votes, rng.integers(0, WIDTH, people))
    return Ballots(np.arange(people), places, reports, WIDTH, WIDTH), labels


def _one_hot(labels: IntArray, known: slice = slice(None)) -> DoubleArray:
    told = np.zeros((len(labels), CLASSES))
    told[known] = np.eye(CLASSES)[labels[known]]
    return told


def test_places_follow_the_ranking() -> None:
    assert places_of(np.array([[2, 0, 3, 1], [0, 1, 2, 3]], np.uint8), 2).tolist() == [[1, 2, 0, 2], [0, 1, 2, 2]]


def test_each_row_is_the_count_of_all_others() -> None:
    """Literally: for each person and class, count the other labelled people at the same place."""
    ballots, labels = _votes(30, 0.8)
    told = _one_hot(labels, slice(0, 20))
    found = np.exp(log_likelihood(ballots, told, prior=5.0))
    true_place = ballots.places[np.arange(30), labels]
    overall = (np.bincount(ballots.reports[:20], minlength=WIDTH) + 1) / (20 + WIDTH)
    for i in range(30):
        others = np.array([j for j in range(20) if j != i])
        for c in range(CLASSES):
            place, report = ballots.places[i, c], ballots.reports[i]
            at = others[true_place[others] == place]
            expected = (np.sum(ballots.reports[at] == report) + 5 * overall[report]) / (len(at) + 5)
            assert found[i, c] == pytest.approx(expected)


def test_nobodys_own_label_moves_its_own_row_by_more_than_the_overall_share() -> None:
    ballots, labels = _votes(40, 0.8)
    told = _one_hot(labels)
    before = log_likelihood(ballots, told)
    changed = told.copy()
    changed[7] = np.roll(told[7], 1)
    assert np.array_equal(log_likelihood(ballots, changed)[7], before[7])
    assert not np.array_equal(log_likelihood(ballots, changed), before)


def test_votes_against_the_class_are_learned_as_well() -> None:
    """Every vote is the next place: the likelihood of the class is that of the place before."""
    ballots, labels = _votes(4_000, 1.0)
    place = ballots.places[np.arange(4_000), labels]
    against = replace(ballots, reports=np.where(place < WIDTH, (place + 1) % WIDTH, ballots.reports))
    told = _one_hot(labels, slice(0, 2_000))
    rows = log_likelihood(against, told)[2_000:]
    guessed = rows.argmax(axis=1)
    inside = place[2_000:] < WIDTH
    assert np.mean(guessed[inside] == labels[2_000:][inside]) > 0.99


def test_without_a_label_a_vote_says_nothing() -> None:
    ballots, labels = _votes(10, 0.8)
    nothing = np.zeros((10, CLASSES))
    rows = log_likelihood(ballots, nothing)
    assert np.ptp(rows, axis=1).max() == pytest.approx(0)
    assert len(labels) == 10


def test_nobody_known_is_a_value_of_its_own() -> None:
    """People without a known neighbour are of the first class here: the law learns that."""
    ballots, labels = _votes(400, 0.8)
    lonely = labels == 0
    reports = np.where(lonely, WIDTH, ballots.reports)
    at_first = replace(ballots, values=WIDTH + 1, reports=reports, places=np.tile(np.arange(CLASSES), (400, 1)))
    rows = log_likelihood(at_first, _one_hot(labels))
    assert (rows[lonely].argmax(axis=1) == 0).all()


def test_by_class_names_the_reported_class() -> None:
    places = places_of(np.array([[2, 0, 3, 1], [0, 1, 2, 3], [3, 2, 1, 0]], np.uint8), 2)
    named = by_class(Ballots(np.arange(3), places, np.array([1, 0, 2]), 2, 3))
    assert named.reports.tolist() == [0, 0, 4]  # the third knows nobody
    assert named.places.tolist() == [[0, 1, 2, 3]] * 3 and (named.width, named.values) == (4, 5)
