"""The model of words: ridge on labelled people alone, in whole numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from curator.learning.ridge import ridge
from curator.linear.tfidf import tfidf_rows
from curator.votes.own_words import model_for_accounts, own_words
from devices.data.splits import make_split
from devices.datasets.generated import generate
from devices.facts import PublicFacts, PublicKnowledge
from devices.mechanisms import OwnFeaturesVote
from devices.mechanisms.word_model import UNIT

N, D, C = 160, 24, 3
SPLIT = make_split("random", generate(N, D, C, seed=2), 100)
TRUTH = np.random.default_rng(0).integers(0, C, N)
LABELS = np.full(N, -1)
LABELS[SPLIT.labelled] = TRUTH[SPLIT.labelled]
# words of a class are likelier
BITS = np.random.default_rng(1).random((N, D)) < 0.1 + 0.3 * (np.arange(D) % C == TRUTH[:, None])


def _public(bits: np.ndarray = BITS, labels: np.ndarray = LABELS) -> PublicKnowledge:
    return PublicKnowledge(PublicFacts(N, D, C), SPLIT, labels, donated=csr_array(bits.astype(np.float32)))


def test_it_is_ridge_on_labelled_people() -> None:
    own = own_words(_public())
    assert np.array_equal(own.people, SPLIT.labelled)
    place = {nodes: np.searchsorted(SPLIT.labelled, getattr(SPLIT, nodes)) for nodes in ("train", "val")}
    fit = ridge(tfidf_rows(csr_array(BITS[SPLIT.labelled])), place["train"], LABELS[SPLIT.labelled], C)
    shares = own.model.shares(BITS[SPLIT.val].astype(np.int64))
    assert shares / UNIT == pytest.approx(fit.scores[place["val"]], abs=0.01)
    assert (own.evidence[place["val"]] == own.model.evidence(shares)).all()
    said = own.model.evidence(own.model.shares(BITS[SPLIT.test].astype(np.int64)))
    assert np.mean(said.argmax(axis=1) == TRUTH[SPLIT.test]) > 0.6
    assert own.rows.sum(axis=1) == pytest.approx(1) and (own.rows.argmax(axis=1) == own.evidence.argmax(axis=1)).all()


def test_nothing_of_anybody_else_is_read() -> None:
    own, changed, labels = own_words(_public()), BITS.copy(), LABELS.copy()
    changed[SPLIT.test] = ~changed[SPLIT.test]
    labels[SPLIT.test] = 1
    again = own_words(_public(changed, labels))
    assert again.model.as_text() == own.model.as_text() and again.model.exponents == own.model.exponents
    assert np.array_equal(again.evidence, own.evidence)


def test_the_own_label_is_not_in_a_training_person_s_evidence() -> None:
    """But for exponents and penalty, which all labels choose together: they are compared at the shares."""
    own = own_words(_public())
    place = np.searchsorted(SPLIT.labelled, SPLIT.train)
    fitted = own.model.evidence(own.model.shares(BITS[SPLIT.train].astype(np.int64)))
    right, without = (np.mean(e.argmax(axis=1) == TRUTH[SPLIT.train]) for e in (fitted, own.evidence[place]))
    assert not (fitted == own.evidence[place]).all() and right > without


def test_features_that_are_no_words_and_nobody_labelled_are_refused() -> None:
    with pytest.raises(ValueError, match="the model reads words"):
        own_words(_public(np.ones((N, D), np.bool_)))
    for public in (replace(_public(), donated=None), _public(labels=np.full(N, -1))):
        with pytest.raises(ValueError, match="needs public features and labels of training people"):
            own_words(public)


@pytest.mark.parametrize(("columns", "classes"), [(0, 2), (3, 1), (3, 0)])
def test_a_model_of_nothing_is_refused(columns: int, classes: int) -> None:
    with pytest.raises(ValueError, match="needs columns and two classes or more"):
        model_for_accounts(columns, classes)


@pytest.mark.parametrize(("columns", "classes"), [(1, 2), (5, 3), (2, 4)])
def test_a_change_of_words_changes_the_answer_of_the_model_for_accounts(columns: int, classes: int) -> None:
    model = model_for_accounts(columns, classes)
    vote = OwnFeaturesVote.from_probabilities(np.zeros((4, classes)), 1.0, model, homophily=0.5)
    assert vote._words.as_text() == model.as_text()
    rows = np.concatenate([np.zeros((1, columns)), np.ones((1, columns)), np.eye(columns)]).astype(np.int64)
    best = model.evidence(model.shares(rows)).argmax(axis=1)
    assert best[0] == 0 and (best[1:] != 0).all()
