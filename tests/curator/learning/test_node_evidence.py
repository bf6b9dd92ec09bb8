"""Node evidence: own labels that do not reach own rows, test labels that change nothing, poor data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.learning import node_evidence as module
from ldpsim.curator.learning.node_evidence import node_evidence
from ldpsim.curator.reports.estimates import FlippedFeatures
from ldpsim.curator.reports.labels import LabelEvidence
from ldpsim.devices.facts import Split
from tests.curator.reports.kinds import one_category

N, D, CLASSES = 240, 40, 3
RNG = np.random.Generator(np.random.PCG64(8))
LABELS = RNG.integers(0, CLASSES, N)
TEXT = (RNG.random((N, D)) < np.where(np.arange(D) % CLASSES == LABELS[:, None], 0.3, 0.1)).astype(np.float32)
DENSE = (RNG.normal(size=(N, 6)) + 1.5 * np.eye(6)[LABELS]).astype(np.float32)
ORDER = RNG.permutation(N)
SPLIT = Split(np.sort(ORDER[:120]), np.sort(ORDER[120:180]), np.sort(ORDER[180:]))


def _hits(log_probability: np.ndarray) -> float:
    return float(np.mean(log_probability[SPLIT.test].argmax(axis=1) == LABELS[SPLIT.test]))


UNIFORM = np.log(np.full((N, CLASSES), 1 / CLASSES))  # of a perceptron that has learned nothing


@pytest.mark.parametrize("features", [csr_array(TEXT), DENSE])
def test_features_tell_the_classes(features: Any) -> None:
    found = node_evidence(features, LabelEvidence(LABELS, CLASSES), SPLIT)
    assert _hits(found.log_probability) > 0.6
    np.testing.assert_allclose(np.exp(found.log_probability).sum(axis=1), 1)
    assert set(found.components) == set(found.exponents)


def test_test_labels_are_not_read() -> None:
    scrambled = LABELS.copy()
    scrambled[SPLIT.test] = RNG.permutation(scrambled[SPLIT.test])
    one, other = (
        node_evidence(csr_array(TEXT), LabelEvidence(labels, CLASSES), SPLIT) for labels in (LABELS, scrambled)
    )
    assert one.log_probability.tobytes() == other.log_probability.tobytes()


@pytest.mark.parametrize("features", [csr_array(TEXT), DENSE])
def test_own_label_does_not_reach_own_components(features: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "fit_perceptron", lambda *a, **k: UNIFORM)  # no component of training people
    before = node_evidence(features, LabelEvidence(LABELS, CLASSES), SPLIT)
    for i in SPLIT.train[:3]:
        flipped = LABELS.copy()
        flipped[i] = (flipped[i] + 1) % CLASSES
        after = node_evidence(features, LabelEvidence(flipped, CLASSES), SPLIT)
        for name, values in before.components.items():
            if name == "perceptron":
                continue
            np.testing.assert_allclose(after.components[name][i], values[i], atol=1e-8, err_msg=name)
            assert not np.allclose(after.components[name], values)


def test_a_perceptron_joins_where_it_helps_and_leaves_training_rows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = np.log(np.full((N, CLASSES), 0.01) + 0.97 * np.eye(CLASSES)[LABELS])
    monkeypatch.setattr(module, "fit_perceptron", lambda *a, **k: oracle)
    good = node_evidence(csr_array(TEXT), LabelEvidence(LABELS, CLASSES), SPLIT)
    assert good.exponents["perceptron"] > 0.5
    assert _hits(good.log_probability) == 1
    monkeypatch.setattr(module, "fit_perceptron", lambda *a, **k: UNIFORM)
    none = node_evidence(csr_array(TEXT), LabelEvidence(LABELS, CLASSES), SPLIT)
    assert none.exponents["perceptron"] == 0
    assert np.array_equal(good.log_probability[SPLIT.train], none.log_probability[SPLIT.train])


def test_a_rule_that_is_not_linear_is_found() -> None:
    rng = np.random.Generator(np.random.PCG64(12))
    places = rng.normal(size=(N, 4)).astype(np.float32)
    labels = (places[:, 0] * places[:, 1] > 0).astype(np.int64)
    found = node_evidence(places, LabelEvidence(labels, 2), SPLIT)
    hits = np.mean(found.log_probability[SPLIT.test].argmax(axis=1) == labels[SPLIT.test])
    linear = np.mean(found.components["ridge"][SPLIT.test].argmax(axis=1) == labels[SPLIT.test])
    assert hits > 0.75 > linear


def test_reported_labels_and_bits() -> None:
    rng = np.random.Generator(np.random.PCG64(11))
    truth = 0.8
    reported = np.where(rng.random(N) < truth, LABELS, (LABELS + rng.integers(1, CLASSES, N)) % CLASSES)
    found = node_evidence(csr_array(TEXT), one_category(reported, CLASSES, truth).only(SPLIT.labelled), SPLIT)
    assert _hits(found.log_probability) > 0.5
    noisy = TEXT.astype(bool) ^ (rng.random((N, D)) < 0.05)
    bits = FlippedFeatures(np.packbits(noisy, axis=1), D, 0.05, np.ones(N, np.bool_))
    found = node_evidence(None, LabelEvidence(LABELS, CLASSES), SPLIT, bits=bits)
    assert _hits(found.log_probability) > 0.5


@pytest.mark.parametrize(
    ("case", "features"),
    [
        ("no label", csr_array(TEXT)), ("one label", DENSE), ("two labels", csr_array(TEXT)), ("two labels", DENSE),
        ("no validation", csr_array((N, 4))), ("a class is missing", csr_array(TEXT)), ("a class is missing", DENSE),
    ],
)  # fmt: skip
def test_poor_data(case: str, features: Any) -> None:
    labels = LABELS.copy()
    if case in ("no label", "one label", "two labels"):
        kept = {"no label": 0, "one label": 1, "two labels": 2}[case]
        labels[SPLIT.train[kept:]] = -1
    if case == "no validation":
        labels[SPLIT.val] = -1
    if case == "a class is missing":
        labels[labels == 1] = -1
    found = node_evidence(features, LabelEvidence(labels, CLASSES), SPLIT)
    assert np.isfinite(found.log_probability).all()
    np.testing.assert_allclose(np.exp(found.log_probability).sum(axis=1), 1)
