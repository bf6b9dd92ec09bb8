"""The law of a vote, its batches, and the model of own features."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ldpsim.curator.learning.ridge import ridge
from ldpsim.curator.reports.labels import LabelEvidence
from ldpsim.curator.votes.knowledge import FOLDS, PRIOR_COUNT, log_likelihood, people_of_batch
from ldpsim.curator.votes.own_model import OwnModel, model_for_accounts, own_model
from ldpsim.devices.facts import PublicFacts, Split
from ldpsim.devices.mechanisms.class_table import UNIT, whole_features


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


M, D, C = 160, 24, 3


FACTS = PublicFacts(400, D, C)


TRUTH = np.random.default_rng(0).integers(0, C, M + 200)


# words of a class are likelier
BITS = np.random.default_rng(1).random((M + 200, D)) < 0.1 + 0.3 * (np.arange(D) % C == TRUTH[:, None])


NUMBERS = np.random.default_rng(2).normal(0.5 + 0.1 * (np.arange(D) % C == TRUTH[:, None]), 0.1).astype(np.float32)


def _said(own: OwnModel, features: np.ndarray) -> np.ndarray:
    """float64 (people, classes): what devices make of the model, in nats."""
    read = whole_features(features, own.levels, FACTS.feature_low, FACTS.feature_high)
    return own.model.evidence(read, words=own.levels == 1) / UNIT


def test_a_model_of_words_is_ridge_and_complement_bayes_on_rows_of_length_one() -> None:
    own = own_model(BITS[:M].astype(np.float32), LabelEvidence(TRUTH[:M], FACTS.classes), FACTS)
    rows = BITS / np.sqrt(np.maximum(BITS.sum(axis=1, keepdims=True), 1))
    fit = ridge(rows, np.arange(M), TRUTH, C, (0.03, 0.1, 0.3, 1.0, 3.0))
    counts = np.stack([rows[:M][TRUTH[:M] == c].sum(axis=0) for c in range(C)], axis=1)
    others = counts.sum(axis=1, keepdims=True) - counts + 1
    bayes = rows @ -np.log(others / others.sum(axis=0))
    said = _said(own, BITS[M:].astype(np.float32))
    # Two exponents explain all classes of everybody, up to a constant of the person.
    parts = np.stack([5 * fit.scores[M:], bayes[M:], np.ones((200, C))], axis=-1)
    centred = parts - parts.mean(axis=1, keepdims=True)
    target = said - said.mean(axis=1, keepdims=True)
    exponents, *_ = np.linalg.lstsq(centred.reshape(-1, 3), target.ravel(), rcond=None)
    assert np.abs(centred @ exponents - target).max() < 0.01 and (exponents[:2] >= -1e-3).all()
    assert np.mean(said.argmax(axis=1) == TRUTH[M:]) > 0.7


@pytest.mark.parametrize("features", [BITS.astype(np.float32), NUMBERS], ids=["words", "numbers"])
def test_the_own_label_is_not_in_what_the_model_says_of_a_volunteer(features: np.ndarray) -> None:
    """With labels that say nothing, a model that has seen them guesses many; without the own one it is at chance."""
    labels = np.random.default_rng(3).integers(0, C, 40)
    own = own_model(features[:40], LabelEvidence(labels, FACTS.classes), FACTS)
    left_out = float(np.mean(own.log_probability.argmax(axis=1) == labels))
    assert left_out < 0.55 and np.exp(own.log_probability).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize(("columns", "classes"), [(0, 2), (3, 1), (3, 0)])
def test_a_model_of_nothing_is_refused(columns: int, classes: int) -> None:
    with pytest.raises(ValueError, match="needs columns and two classes or more"):
        model_for_accounts(columns, classes)


@pytest.mark.parametrize(("columns", "classes"), [(1, 2), (5, 3), (2, 4)])
def test_a_change_of_words_changes_the_answer_of_the_model_for_accounts(columns: int, classes: int) -> None:
    rows = np.concatenate([np.zeros((1, columns)), np.ones((1, columns)), np.eye(columns)]).astype(np.int64)
    best = model_for_accounts(columns, classes).evidence(rows, words=True).argmax(axis=1)
    assert best[0] == 0 and (best[1:] != 0).all()
