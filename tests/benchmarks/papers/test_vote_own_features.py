"""Votes with private features and without: scores are the device's, and everybody is asked once."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers import vote_own_features as trial
from devices.data.splits import make_split
from devices.datasets.generated import generate
from devices.mechanisms import NeighbourhoodVote


@pytest.fixture(scope="module")
def people() -> trial.People:
    population = generate(160, 24, 3, seed=2)
    return trial.People(population, make_split("random", population, 100))


def test_sums_are_the_scores_of_the_device(people: trial.People) -> None:
    rows = np.random.default_rng(0).random((160, 3))
    rows[::3] = 0
    some = np.arange(0, 160, 2)
    for own in (False, True):
        vote = NeighbourhoodVote.from_probabilities(rows, 2.0, homophily=0.8, candidates=3, own=own)
        scores, seen = trial.sums(people, vote, some, own=own)
        told = [vote.scores(people.population.record(i).neighbours, i) for i in some.tolist()]
        assert scores.tolist() == [each[0].tolist() for each in told]
        assert seen.tolist() == [each[1] for each in told]


def test_every_arm_asks_everybody_once(people: trial.People, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = trial._asked

    def counted(*given: object) -> object:
        asked.extend(given[5].tolist())  # type: ignore[attr-defined]
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(trial, "_asked", counted)
    monkeypatch.setitem(vars(people), "public", people.shares)  # its perceptron takes long
    chance = np.random.default_rng(0).random((160, 2))
    for arm in trial.ARMS:
        asked.clear()
        assert 0 <= trial.accuracy(people, arm, 2.0, 3, chance) <= 1
        assert sorted(asked) == list(range(160))


def test_the_table_of_own_features_tells_nobody_without_a_label(people: trial.People) -> None:
    split, nobody = people.split, np.zeros(160, np.bool_)
    rows = trial._table(people, trial.OWN, np.full((160, 3), 1 / 3), nobody, split.train[:5])
    assert not rows[split.test].any() and (rows[split.train[5:]].max(axis=1) == 1).all()
    assert (rows[split.train[:5]].max(axis=1) < 1).all()  # not the label of those who get this table
