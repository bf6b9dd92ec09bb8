"""Nearest people by brute force; the strong null reads no edge and no test label, and is above its parts' chance."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from benchmarks.paired.strong_null import nearest, strong_null
from curator.nulls.known import Known
from devices.data.splits import make_split
from devices.datasets.generated import generate
from strategies.people.owned_graph import sparse_features


def test_nearest_are_those_of_brute_force() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 6))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosine = rows @ rows.T - 2 * np.eye(40)
    wanted = {(i, int(j)) for i in range(40) for j in np.argsort(-cosine[i])[:3]}
    wanted |= {(j, i) for i, j in wanted}
    for given in (rows, csr_array(rows)):
        assert {(int(i), int(j)) for i, j in nearest(given, 3).T} == wanted


def test_a_row_of_zeros_chooses_nobody() -> None:
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    assert nearest(rows, 2).tolist() == [[0, 1], [1, 0]]


def test_it_reads_no_test_label_and_is_above_chance() -> None:
    people = generate(200, seed=3)
    split = make_split("random", people, 0)
    labels = np.full(200, -1, np.int64)
    labels[split.labelled] = people.labels[split.labelled]
    known = Known(people.facts.classes, labels, split, people.edges, sparse_features(people))
    found = strong_null(known, people, seed=0)
    assert found is not None
    share = np.bincount(people.labels[split.test]).max() / len(split.test)
    assert np.mean(found[split.test] == people.labels[split.test]) > share
    scrambled = labels.copy()
    scrambled[split.test] = 0
    again = strong_null(Known(people.facts.classes, scrambled, split, None, known.features), people, seed=0)
    assert np.array_equal(found, again)
    assert strong_null(Known(people.facts.classes, labels, split), people, seed=0) is None
