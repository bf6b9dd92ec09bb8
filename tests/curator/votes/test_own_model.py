"""The model of own features: fitted on volunteers alone, linear, the same in whole numbers as in floating point."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.learning.ridge import ridge
from ldpsim.curator.reports.labels import LabelEvidence
from ldpsim.curator.votes.own_model import OwnModel, model_for_accounts, own_model
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.class_table import UNIT, whole_features

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


def test_a_model_of_numbers_is_ridge_on_standardised_columns() -> None:
    own = own_model(NUMBERS[:M], LabelEvidence(TRUTH[:M], FACTS.classes), FACTS)
    assert own.levels == 255
    read = whole_features(NUMBERS, 255, 0.0, 1.0)
    rows = (read - read[:M].mean(axis=0)) / (read[:M].std(axis=0) * np.sqrt(D))
    fit = ridge(rows, np.arange(M), TRUTH, C, (0.03, 0.1, 0.3, 1.0, 3.0))
    said = _said(own, NUMBERS[M:])
    part, target = (each - each.mean(axis=1, keepdims=True) for each in (fit.scores[M:], said))
    exponent = float((part * target).sum() / (part * part).sum())
    assert np.abs(exponent * part - target).max() < 0.01 and exponent > 0
    assert np.mean(said.argmax(axis=1) == TRUTH[M:]) > 0.6


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
