"""The bundle for devices: what its table, homophily and model are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.device_bundle import HOMOPHILY, BundleParts, homophily_of
from ldpsim.curator.evidence.evidence import Evidence
from ldpsim.curator.nulls import models
from ldpsim.curator.nulls.models import NullEvidence
from ldpsim.curator.reports.labels import LabelEvidence
from ldpsim.devices.data.population import build_population, records_of
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from tests.curator.worlds import world

N, CLASSES = 600, 3
RNG = np.random.Generator(np.random.PCG64(51))
LABELS = RNG.integers(CLASSES, size=N)
SPLIT = Split(np.arange(300), np.arange(300, 400), np.arange(400, N))
FACTS = PublicFacts(N, 6, CLASSES)
FEATURES = (RNG.random((N, 6)) < 0.1 + 0.8 * (np.arange(6) // 2 == LABELS[:, None])).astype(np.float32)


def _edges(share: float) -> np.ndarray:
    """Edges of which this share are within a class, the others between two people at random."""
    left, right = RNG.integers(N, size=(2, 6000))
    same = RNG.random(6000) < share
    partner = np.array([RNG.choice(np.flatnonzero(LABELS == label)) for label in LABELS[left]])
    right = np.where(same, partner, right)
    pairs = np.unique(np.sort(np.stack([left, right])[:, left != right], axis=0), axis=1)
    return pairs


def _public(edges: np.ndarray | None, features: object = None) -> PublicKnowledge:
    labels = np.full(N, -1)
    labels[SPLIT.labelled] = LABELS[SPLIT.labelled]
    return PublicKnowledge(FACTS, SPLIT, labels, features, edges)


def _known(features: object = None) -> NullEvidence:
    public = _public(None)
    return NullEvidence(LabelEvidence(public.labels, CLASSES), SPLIT, None, features)


def _parts(homophily: float, features: object = None) -> BundleParts:
    return BundleParts(_known(features), FACTS, homophily, homophily)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7])
def test_the_homophily_is_that_of_public_edges(share: float) -> None:
    # 6,000 edges, 4 of 9 between labelled people: the standard error is below .02
    assert homophily_of(Evidence(None, _public(_edges(share))), SPLIT.labelled) == pytest.approx(share, abs=0.1)


@pytest.mark.parametrize("given", [{}, {"reporting": "one-end"}, {"private_labels": True, "silent": (3, 7)}], ids=str)
def test_only_pairs_of_the_counted_people_make_the_homophily(
    given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of very many people the reports of the others are left out before anything is matched."""
    reports, public, _ = world(**given)
    people = np.sort(public.split.labelled)
    whole = homophily_of(Evidence(reports, public), people)
    monkeypatch.setattr(models, "MOST_TAUGHT", 1)
    assert homophily_of(Evidence(reports, public), people) == pytest.approx(whole, rel=1e-9) != HOMOPHILY


def test_without_pairs_the_homophily_is_the_constant() -> None:
    assert homophily_of(Evidence(None, _public(None)), SPLIT.labelled) == HOMOPHILY


def test_labels_in_clear_stand_in_the_table_and_nothing_is_said_of_others_without_features() -> None:
    made = _parts(0.5).alone()
    table = made.class_table
    unknown = table.unknown[table.codes]
    assert unknown[SPLIT.test].all() and not unknown[SPLIT.labelled].any()
    assert (table.ranked[SPLIT.labelled, 0] == LABELS[SPLIT.labelled]).all()
    assert made.columns == 0


def test_features_in_clear_teach_the_model_and_fill_the_table() -> None:
    edges = _edges(0.7)
    made = _parts(0.7, csr_array(FEATURES)).alone()
    starts = np.arange(N + 1) * 6
    people = build_population(
        "made", n=N, d=6, edges=edges, feature_indptr=starts, feature_indices=np.tile(np.arange(6), N),
        feature_values=FEATURES.ravel(), labels=LABELS, classes=CLASSES,
    )  # fmt: skip
    test = SPLIT.test
    named = made.classes_of(records_of(people, test), test)
    of_features = (made.class_table.ranked[test, 0] == LABELS[test]).mean()
    assert of_features > 0.8  # chance is 1/3; 200 people
    assert (named == LABELS[test]).mean() > of_features


def test_a_method_without_distributions_has_a_table_of_how_often_it_is_right() -> None:
    predictions = np.where(RNG.random(N) < 0.8, LABELS, (LABELS + 1) % CLASSES)
    made = _parts(0.5).after(None, predictions, calibrated=True)
    table = made.class_table
    assert (table.ranked[SPLIT.test, 0] == predictions[SPLIT.test]).all()
    rows = np.exp(table.rows[table.codes[SPLIT.test]] / -16.0)
    said = (rows / rows.sum(axis=1, keepdims=True)).max(axis=1)
    assert said.mean() == pytest.approx(0.8, abs=0.15)  # 100 validation people in three classes


def test_the_temperature_makes_a_network_that_is_too_sure_less_sure() -> None:
    right = RNG.random(N) < 0.6
    said = np.where(right, LABELS, (LABELS + 1) % CLASSES)
    sure = 12.0 * np.eye(CLASSES)[said]
    made = _parts(0.5).after(sure, sure.argmax(axis=1), calibrated=False)
    table = made.class_table
    rows = np.exp(table.rows[table.codes[SPLIT.test]] / -16.0)
    assert (rows / rows.sum(axis=1, keepdims=True)).max() < 0.85
