"""Node evidence: own labels that do not reach own rows, test labels that change nothing, poor data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.features import feature_posterior as module
from ldpsim.curator.features.feature_posterior import feature_posterior, unit_rows
from ldpsim.curator.features.features_alone import fit_perceptron
from ldpsim.curator.posterior.components import graph_components, spectrum
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.devices.facts import Split

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


def test_test_labels_are_not_read() -> None:
    scrambled = LABELS.copy()
    scrambled[SPLIT.test] = RNG.permutation(scrambled[SPLIT.test])
    one, other = (
        feature_posterior(csr_array(TEXT), ObservedLabels(labels, CLASSES), SPLIT) for labels in (LABELS, scrambled)
    )
    assert one.log_probability.tobytes() == other.log_probability.tobytes()


@pytest.mark.parametrize("features", [csr_array(TEXT), DENSE])
def test_own_label_does_not_reach_own_components(features: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "fit_perceptron", lambda *a, **k: UNIFORM)  # no component of training people
    before = feature_posterior(features, ObservedLabels(LABELS, CLASSES), SPLIT)
    for i in SPLIT.train[:3]:
        flipped = LABELS.copy()
        flipped[i] = (flipped[i] + 1) % CLASSES
        after = feature_posterior(features, ObservedLabels(flipped, CLASSES), SPLIT)
        for name, values in before.components.items():
            if name == "perceptron":
                continue
            np.testing.assert_allclose(after.components[name][i], values[i], atol=1e-8, err_msg=name)
            assert not np.allclose(after.components[name], values)


def test_a_perceptron_joins_where_it_helps_and_leaves_training_rows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = np.log(np.full((N, CLASSES), 0.01) + 0.97 * np.eye(CLASSES)[LABELS])
    monkeypatch.setattr(module, "fit_perceptron", lambda *a, **k: oracle)
    good = feature_posterior(csr_array(TEXT), ObservedLabels(LABELS, CLASSES), SPLIT)
    assert good.exponents["perceptron"] > 0.5
    assert _hits(good.log_probability) == 1
    monkeypatch.setattr(module, "fit_perceptron", lambda *a, **k: UNIFORM)
    none = feature_posterior(csr_array(TEXT), ObservedLabels(LABELS, CLASSES), SPLIT)
    assert none.exponents["perceptron"] == 0
    assert np.array_equal(good.log_probability[SPLIT.train], none.log_probability[SPLIT.train])


@pytest.mark.parametrize(("case", "features"), [
    ("no label", csr_array(TEXT)), ("one label", DENSE), ("two labels", csr_array(TEXT)), ("two labels", DENSE),
    ("no validation", csr_array((N, 4))), ("a class is missing", csr_array(TEXT)), ("a class is missing", DENSE),
])  # fmt: skip
def test_poor_data(case: str, features: Any) -> None:
    labels = LABELS.copy()
    if case in ("no label", "one label", "two labels"):
        kept = {"no label": 0, "one label": 1, "two labels": 2}[case]
        labels[SPLIT.train[kept:]] = -1
    if case == "no validation":
        labels[SPLIT.val] = -1
    if case == "a class is missing":
        labels[labels == 1] = -1
    found = feature_posterior(features, ObservedLabels(labels, CLASSES), SPLIT)
    assert np.isfinite(found.log_probability).all()
    np.testing.assert_allclose(np.exp(found.log_probability).sum(axis=1), 1)


def test_noise_is_learned_by_heart_early_so_patience_changes_no_model() -> None:
    rng, labels = np.random.Generator(np.random.PCG64(3)), np.arange(60) % 3
    noisy = rng.standard_normal((60, 30)).astype(np.float32)
    noisy += np.arange(30) // 10 == labels[:, None]
    order, told = rng.permutation(60), ObservedLabels(labels, 3)
    short, whole = (
        fit_perceptron(noisy, told, order[:30], order[30:45], seed=1, patience=most) for most in (50, math.inf)
    )
    assert np.array_equal(short, whole)


N_LINKED, D_LINKED, CLASSES_LINKED = 200, 30, 3


LABELS_LINKED = RNG.integers(0, CLASSES_LINKED, N_LINKED)


WORDS_LINKED = (
    RNG.random((N_LINKED, D_LINKED))
    < np.where(np.arange(D_LINKED) % CLASSES_LINKED == LABELS_LINKED[:, None], 0.3, 0.1)
).astype(np.float32)


ROWS = unit_rows(csr_array(WORDS_LINKED), None)


TRAIN_LINKED = np.arange(0, N_LINKED, 2)


def _links(inside: float, outside: float) -> csr_array:
    same = LABELS_LINKED[:, None] == LABELS_LINKED
    upper = np.triu(RNG.random((N_LINKED, N_LINKED)) < np.where(same, inside, outside), 1)
    weights = np.where(upper, 0.5 + 0.5 * RNG.random((N_LINKED, N_LINKED)), 0).astype(np.float32)
    return csr_array(weights + weights.T)


LINKS = _links(0.06, 0.01)


PAIRS = csr_array((LINKS > 0).astype(np.float32))


def components(
    links: csr_array = LINKS, labels: np.ndarray = LABELS_LINKED, rows: Any = ROWS, train: np.ndarray = TRAIN_LINKED
) -> dict[str, np.ndarray]:
    val = np.setdiff1d(np.arange(1, N_LINKED, 4), train)
    early, late = graph_components(rows, links, PAIRS, ObservedLabels(labels, CLASSES_LINKED), train, val)
    return {**early, **late}


def test_own_label_reaches_late_components_only() -> None:
    before = components()
    late = {"label propagation on P", "label propagation on S", "LINK"}
    assert len(before) == 5 and late < before.keys()
    for i in TRAIN_LINKED[:6]:
        flipped = LABELS_LINKED.copy()
        flipped[i] = (flipped[i] + 1) % CLASSES_LINKED
        after = components(labels=flipped)
        for name, rows in before.items():
            assert np.allclose(after[name][i], rows[i], atol=1e-8) == (name not in late), name
            assert not np.allclose(after[name], rows)


def test_poor_graphs_and_labels() -> None:
    empty = csr_array((N_LINKED, N_LINKED), dtype=np.float32)
    assert components(empty) == components(train=TRAIN_LINKED[:0]) == {}
    one = csr_array(([1.0, 1.0], ([3, 4], [4, 3])), shape=(N_LINKED, N_LINKED), dtype=np.float32)
    for links, train in ((one, TRAIN_LINKED), (LINKS, TRAIN_LINKED[:1]), (LINKS, TRAIN_LINKED[:3])):
        found = components(links, train=train)
        assert all(np.isfinite(rows).all() for rows in found.values())
    small = csr_array(([1.0, 1.0], ([0, 1], [1, 0])), shape=(4, 4), dtype=np.float32)
    assert np.isfinite(spectrum(small)).all()
