"""Affinity between classes from noisy answers: recovered, or left to one number where that is as good."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.votes.affinity import LEAST_PEOPLE, first_people, learned_affinity, without_people
from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.facts import Split

CLASSES = 4
RING = 0.1 * np.eye(CLASSES) + 0.6 * np.roll(np.eye(CLASSES), 1, axis=1) + 0.3 * np.roll(np.eye(CLASSES), -1, axis=1)


def _answers(affinity: DoubleArray, people: int, kept: float, seed: int = 0) -> tuple[IntArray, DoubleArray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, people)
    named = np.array([rng.choice(CLASSES, p=affinity[label]) for label in labels])
    named = np.where(rng.random(people) < kept, named, rng.integers(0, CLASSES, people))
    return named, np.eye(CLASSES)[labels]


@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_the_affinity_is_recovered_through_the_noise(kept: float) -> None:
    found = learned_affinity(*_answers(RING, 20_000, kept), kept)
    assert found is not None and found.sum(axis=1) == pytest.approx(1)
    assert np.abs(found - RING).max() < 0.06


def test_labels_that_are_known_by_chance_only_give_a_flatter_one() -> None:
    named, told = _answers(RING, 20_000, 0.9)
    found = learned_affinity(named, 0.8 * told + 0.2 / CLASSES, 0.9)
    assert found is not None and np.array_equal(found.argmax(axis=1), RING.argmax(axis=1))


def test_where_a_homophily_fits_it_is_left_alone() -> None:
    homophilous = 0.7 * np.eye(CLASSES) + 0.3 / CLASSES
    taken = [learned_affinity(*_answers(homophilous, 300, 0.8, seed), 0.8) is not None for seed in range(20)]
    assert sum(taken) <= 4
    assert learned_affinity(*_answers(np.full((CLASSES, CLASSES), 1 / CLASSES), 300, 0.8), 0.8) is None


def test_few_noisy_answers_are_not_trusted() -> None:
    taken = [learned_affinity(*_answers(RING, 60, 0.05, seed), 0.05) is not None for seed in range(20)]
    assert sum(taken) <= 6


def test_who_knows_nobody_is_left_out() -> None:
    named, told = _answers(RING, 2_000, 0.9)
    more = np.concatenate([named, np.full(500, CLASSES)])
    found = learned_affinity(more, np.concatenate([told, told[:500]]), 0.9)
    assert np.array_equal(found, learned_affinity(named, told, 0.9))  # type: ignore[arg-type]


def test_a_quarter_of_the_labelled_people_is_first_if_they_are_enough() -> None:
    split = Split(np.arange(0, 200), np.arange(200, 300), np.arange(300, 400))
    first = first_people(split, CLASSES, 4.0)
    assert len(first) == 75 and np.isin(first, split.labelled).all()
    rest = without_people(split, first)
    assert len(rest.train) + len(rest.val) == 225 and not np.isin(first, rest.labelled).any()
    assert np.array_equal(rest.test, split.test)
    most = len(first) // LEAST_PEOPLE
    assert len(first_people(split, most, 4.0)) and not len(first_people(split, most + 1, 4.0))
    assert not len(first_people(split, CLASSES, 0.8))  # GRR keeps a quarter of the answers
