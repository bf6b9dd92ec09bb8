"""Held-out pairs: sizes, no edge among the other pairs, and nothing left in anybody's list."""

from __future__ import annotations

import numpy as np
import pytest

from devices import datasets
from devices.data.link_split import LinkSplit, split_links
from devices.data.population import Population, build_population


@pytest.fixture(scope="module")
def people() -> Population:
    return datasets.load("generated", clients=200)


def graph(n: int, edges: list[tuple[int, int]]) -> Population:
    return build_population(
        "small", n=n, d=1, edges=np.array(edges).T, feature_indptr=np.zeros(n + 1, np.int64),
        feature_indices=np.zeros(0, np.int64), feature_values=None, labels=np.zeros(n, np.int64), classes=1,
    )  # fmt: skip


def keys(pairs: np.ndarray, n: int) -> list[int]:
    return (pairs[0] * n + pairs[1]).tolist()


def halves(split: LinkSplit) -> tuple[np.ndarray, np.ndarray]:
    edges, others = zip(*(np.split(part, 2, axis=1) for part in (split.val, split.test)), strict=True)
    return np.concatenate(edges, axis=1), np.concatenate(others, axis=1)


@pytest.mark.parametrize("seed", range(3))
def test_a_twentieth_and_a_tenth_beside_as_many_pairs_without_an_edge(people: Population, seed: int) -> None:
    split, n = split_links(people, seed), len(people)
    m = people.edges.shape[1]
    assert (split.val.shape[1], split.test.shape[1]) == (2 * round(0.05 * m), 2 * round(0.1 * m))
    edges, others = halves(split)
    every = set(keys(people.edges, n))
    assert set(keys(edges, n)) <= every and not every & set(keys(others, n))
    assert np.all(split.pairs[0] < split.pairs[1]) and len(set(keys(split.pairs, n))) == split.pairs.shape[1]
    assert np.array_equal(split.held_out, edges)


def test_no_list_has_a_held_out_edge_and_all_else_stays(people: Population) -> None:
    split = split_links(people, 5)
    left = split.without_held_out(people)
    gone = {frozenset(pair) for pair in split.held_out.T.tolist()}
    for node in range(len(people)):
        before, after = people.record(node), left.record(node)
        kept = [other for other in before.neighbours.tolist() if frozenset((node, other)) not in gone]
        assert after.neighbours.tolist() == kept
        assert after.label == before.label and np.array_equal(after.feature_indices, before.feature_indices)
    assert left.edges.shape[1] == people.edges.shape[1] - len(gone)
    left._check_sizes(None)  # type: ignore[arg-type]  # raises for arrays that do not fit
    assert split.without_held_out(left).digest == left.digest != people.digest


def test_the_seed_decides(people: Population) -> None:
    assert split_links(people, 1).digest == split_links(people, 1).digest != split_links(people, 2).digest


def test_too_few_edges_or_other_pairs() -> None:
    with pytest.raises(ValueError, match="small has 3 edges; 20 are least"):
        split_links(graph(5, [(0, 1), (1, 2), (2, 3)]), 0)
    everybody = [(i, j) for i in range(8) for j in range(i)]
    with pytest.raises(ValueError, match="an edge between most people"):
        split_links(graph(8, everybody), 0)
