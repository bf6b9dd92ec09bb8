"""Shuffled people: each attribute moves by itself, as a whole, and nobody keeps an own value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ldpsim.devices.data.population import Population, build_population
from ldpsim.strategies.people.owner_graphs import sparse_features
from ldpsim.strategies.people.shuffled import shuffled

N = 40


@pytest.fixture(scope="module")
def people() -> Population:
    """People with features, degrees and labels that tell them apart; two have no label."""
    rng = np.random.default_rng(3)
    edges = rng.integers(0, N, (2, 90))
    labels = np.arange(N)
    labels[[4, 9]] = -1
    features = np.arange(1, N + 1, dtype=np.float32) / N
    return build_population("people", n=N, d=2, edges=edges, feature_indptr=np.arange(N + 1),
                            feature_indices=np.arange(N) % 2, feature_values=features, labels=labels,
                            classes=N)  # fmt: skip


def dense(people: Population) -> np.ndarray:
    found = np.zeros((len(people), len(people)), bool)
    left, right = people.edges
    found[left, right] = found[right, left] = True
    return found


def test_features_are_those_of_another_person(people: Population) -> None:
    found = shuffled(people, ["features"], 1)
    before, after = (sparse_features(each).toarray() for each in (people, found))
    assert sorted(map(tuple, before)) == sorted(map(tuple, after))
    assert (before != after).any(axis=1).all()
    assert np.array_equal(people.labels, found.labels) and np.array_equal(dense(people), dense(found))
    assert people.digest != found.digest


def test_the_adjacency_is_relabelled(people: Population) -> None:
    found = shuffled(people, ["adjacency"], 1)
    before, after = dense(people), dense(found)
    assert np.array_equal(after, after.T) and sorted(before.sum(0)) == sorted(after.sum(0))
    assert np.array_equal(
        np.linalg.eigvalsh(before.astype(float)).round(6), np.linalg.eigvalsh(after.astype(float)).round(6)
    )
    assert not np.array_equal(before, after)
    for person in range(N):
        row = found.record(person).neighbours
        assert np.array_equal(row, np.sort(row)) and row.dtype == np.int32
    assert np.array_equal(sparse_features(people).toarray(), sparse_features(found).toarray())


def test_labels_move_among_those_who_have_one(people: Population) -> None:
    found = shuffled(people, ["label"], 1).labels
    assert found[[4, 9]].tolist() == [-1, -1]
    rest = np.setdiff1d(np.arange(N), [4, 9])
    assert sorted(found[rest]) == rest.tolist() and (found[rest] != rest).all()


def test_each_attribute_has_a_permutation_of_its_own(people: Population) -> None:
    """With one permutation for all, a person's features, edges and label would still belong together."""
    full = replace(people, labels=np.arange(N))
    found = shuffled(full, ["adjacency", "features", "label"], 1)
    moved = np.round(sparse_features(found).toarray().sum(1) * N).astype(int) - 1
    assert (moved != found.labels).mean() > 0.8
    arrays = {"adjacency": "neighbour_indices", "features": "feature_values", "label": "labels"}
    for attribute, name in arrays.items():  # the same as if it were shuffled alone
        assert np.array_equal(getattr(shuffled(full, [attribute], 1), name), getattr(found, name))
    assert not np.array_equal(shuffled(full, ["label"], 2).labels, found.labels)


def test_only_those_named_move(people: Population) -> None:
    among = np.arange(0, N, 2)
    rest = np.setdiff1d(np.arange(N), among)
    found = shuffled(people, ["adjacency", "features", "label"], 1, among=among)
    assert np.array_equal(found.labels[rest], people.labels[rest])
    before, after = (sparse_features(each).toarray() for each in (people, found))
    assert np.array_equal(before[rest], after[rest]) and not np.array_equal(before, after)
    assert np.array_equal(dense(people)[np.ix_(rest, rest)], dense(found)[np.ix_(rest, rest)])
    assert sorted(dense(people)[np.ix_(among, among)].sum(0)) == sorted(dense(found)[np.ix_(among, among)].sum(0))
