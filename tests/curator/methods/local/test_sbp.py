from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods import Budget
from ldpsim.curator.methods.local.sbp import ASKED_METHODS, SBP
from ldpsim.devices.facts import PublicFacts, PublicKnowledge
from tests.curator.worlds import CLASSES, SPLIT, D, N, world

FACTS = PublicFacts(N, D, CLASSES)


def _predictions(reports: Any, public: PublicKnowledge) -> np.ndarray:
    graph = SBP().reconstruct(reports, public)
    return SBP().train(graph, settings=TrainingSettings(), classes=CLASSES, seed=0, device="cpu").predictions


@pytest.mark.parametrize("name", ASKED_METHODS)
def test_the_question_of_any_method_is_asked_as_it_is(name: str) -> None:
    budget = Budget(epsilon=6, public_features=name in ("blink", "rr", "symrr", "dprr"))
    other = ASKED_METHODS[name]()
    own, theirs = (method.questions(FACTS, SPLIT, budget, "c") for method in (SBP(asks=name), other))
    assert [q.query.to_bytes() for q in own] == [q.query.to_bytes() for q in theirs]
    assert SBP(asks=name).guarantee(FACTS, own, budget) == other.guarantee(FACTS, theirs, budget)
    assert SBP(asks=name).effective_spec().public_graph == other.effective_spec().public_graph
    assert SBP(asks=name).effective_spec().asks_labels == other.effective_spec().asks_labels
    assert SBP(asks=name).effective_spec().private == other.effective_spec().private
    assert SBP(asks=name).features_optional == (name == "hogs")


@pytest.mark.parametrize("name", ASKED_METHODS)
def test_people_without_features_are_refused_where_the_question_asks_for_features(name: str) -> None:
    nobody_has_any = PublicFacts(N, 0, CLASSES)
    if name in ("rgnn", "lpgnn", "solitude", "fp-solitude"):
        with pytest.raises(ValueError, match="sbp needs features, and these people have none"):
            SBP(asks=name).check_people(nobody_has_any)
    else:
        SBP(asks=name).check_people(nobody_has_any)


def test_scrambled_test_labels_change_nothing() -> None:
    """Only a simulation has them. The curator's knowledge never does, so they are put where it would look."""
    reports, public, labels = world(epsilon=3.0)
    one = _predictions(reports, public)
    leaked = public.labels.copy()
    leaked[SPLIT.test] = (labels[SPLIT.test] + 1) % CLASSES
    other = _predictions(reports, dataclasses.replace(public, labels=leaked))
    assert one.tobytes() == other.tobytes()
    assert (one == labels)[SPLIT.test].mean() > 0.8


def test_both_directions_of_a_pair_have_its_posterior_as_weight() -> None:
    reports, public, _ = world(epsilon=3.0)
    graph = SBP().reconstruct(reports, public)
    assert graph.edge_weight is not None and graph.edge_weight.shape == graph.edge_index.shape[1:]
    left, right = graph.edge_index.reshape(2, 2, -1).swapaxes(0, 1)
    assert np.array_equal(left, right[::-1])
    assert np.array_equal(*graph.edge_weight.reshape(2, -1))
