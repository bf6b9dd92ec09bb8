"""Batches: everybody once, labelled people in each, the certain ones first."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.votes.rounds import FOLDS, LABELLED, TRAINING, people_of_batch, told_split
from ldpsim.devices.facts import Split

N = 100
ORDER = np.random.default_rng(0).permutation(N)
SPLIT = Split(np.sort(ORDER[:45]), np.sort(ORDER[45:60]), np.sort(ORDER[60:90]))  # ten people are in no part


@pytest.mark.parametrize("batches", [1, 3, 7])
def test_everybody_is_in_one_batch(batches: int) -> None:
    certainty = np.random.default_rng(1).random(N)
    asked, seen = np.zeros(N, np.bool_), []
    for number in range(batches):
        folds, others = people_of_batch(SPLIT, certainty, asked, batches=batches, number=number)
        assert len(folds) == min(FOLDS, sum(map(len, folds)))
        assert np.isin(np.concatenate(folds), SPLIT.train).all() and not np.isin(others, SPLIT.train).any()
        assert abs(np.isin(others, SPLIT.val).sum() - 15 / batches) < 1
        now = np.concatenate([*folds, others])
        assert not asked[now].any() and len(np.unique(now)) == len(now)
        asked[now] = True
        seen.append(certainty[np.setdiff1d(others, SPLIT.labelled)])
    assert asked.all()
    for earlier, later in zip(seen, seen[1:], strict=False):
        assert earlier.min() >= later.max()


def test_people_whose_labels_are_told_are_dealt_to_folds() -> None:
    assert told_split(SPLIT, TRAINING) is SPLIT
    told = told_split(SPLIT, LABELLED)
    assert np.array_equal(told.train, np.sort(SPLIT.labelled)) and not len(told.val)
    assert np.array_equal(told.labelled, told.train) and np.array_equal(told.test, SPLIT.test)
