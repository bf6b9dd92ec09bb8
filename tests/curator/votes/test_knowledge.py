"""The law of a vote given the class, and the batches of votes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ldpsim.curator.votes.knowledge import FOLDS, PRIOR_COUNT, log_likelihood, people_of_batch
from ldpsim.devices.facts import Split


@pytest.mark.parametrize("soft", [False, True])
def test_the_law_is_that_of_the_formula_without_the_own_count(soft: bool) -> None:
    rng, classes, people = np.random.default_rng(2), 3, 40
    reports = rng.integers(0, classes + 1, people)
    labels = rng.dirichlet(np.ones(classes), people) if soft else np.eye(classes)[rng.integers(0, classes, people)]
    labels[30:] = 0  # people without a label
    found = np.exp(log_likelihood(reports, labels))
    overall = np.array([labels[reports == r].sum() + 1 for r in range(classes + 1)])
    overall = overall / overall.sum()
    for person, c in product(range(people), range(classes)):
        others = np.arange(people) != person
        same = labels[others & (reports == reports[person]), c].sum()
        wanted = (same + PRIOR_COUNT * overall[reports[person]]) / (labels[others, c].sum() + PRIOR_COUNT)
        assert found[person, c] == pytest.approx(wanted)


def test_each_batch_has_folds_of_labelled_people_and_the_most_certain_of_the_others() -> None:
    split = Split(np.arange(0, 120), np.arange(120, 180), np.arange(180, 300))
    certainty, asked = np.random.default_rng(0).random(300), np.zeros(300, np.bool_)
    seen: list[int] = []
    for number in range(3):
        *folds, others = people_of_batch(split, certainty, asked, batches=3, number=number)
        assert len(folds) == FOLDS and {len(fold) for fold in folds} == {6}
        assert all(np.isin(fold, split.labelled).all() for fold in folds)
        left = np.setdiff1d(np.flatnonzero(~asked), split.labelled)
        assert np.array_equal(others, np.sort(left[np.argsort(-certainty[left])[:40]]))
        for people in (*folds, others):
            seen += people.tolist()
            asked[people] = True
    assert sorted(seen) == list(range(300))
