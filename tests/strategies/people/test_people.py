"""Shuffled people, divisions of people for an owner, and the graphs of both sides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.datasets import load
from ldpsim.devices.facts import Split
from ldpsim.strategies.people import division as divisions_of_people
from ldpsim.strategies.people.division import divide
from ldpsim.strategies.people.owner_graphs import handed_over, owned_people, public_graph, sparse_features
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


def test_parts_share_nobody_and_repeat(population: Population) -> None:
    first, again, other = divide(population, 1), divide(population, 1), divide(population, 2)
    for name in ("private", "candidates", "scored"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert not np.array_equal(first.private, other.private)
    everybody = np.concatenate([first.private, first.candidates, first.scored])
    assert len(np.unique(everybody)) == len(everybody) == len(population)
    assert (len(first.private), len(first.candidates), len(first.scored)) == (16, 12, 12)


def test_people_without_a_label_are_in_no_part(population: Population) -> None:
    labels = population.labels.copy()
    labels[:20] = -1
    division = divide(replace(population, labels=labels), 0)
    assert min(division.private.min(), division.public.min()) >= 20
    labels[:] = -1
    with pytest.raises(ValueError, match="too few"):
        divide(replace(population, labels=labels), 0)


def test_arxiv_takes_the_years(population: Population) -> None:
    split = Split(np.arange(20), np.arange(20, 30), np.arange(30, 40))
    division = divide(replace(population, name="ogbn-arxiv", own_split=split), 0)
    np.testing.assert_array_equal(division.private, split.train)
    np.testing.assert_array_equal(division.candidates, split.val)
    np.testing.assert_array_equal(division.scored, split.test)
    for name, own in (("generated", split), ("ogbn-arxiv", None), ("computers", None)):  # the general rule
        assert divide(replace(population, name=name, own_split=own), 0).rule.startswith("40%")


@pytest.mark.parametrize("name, private, half, each", [("computers", 2500, 3000, 250), ("cora", 700, 1000, 100),
                                                       ("pubmed", 3000, 3000, 1000)])  # fmt: skip
def test_the_stated_rules_on_real_data(data_dir: object, name: str, private: int, half: int, each: int) -> None:
    population = load(name, data_dir=data_dir)  # type: ignore[arg-type]
    division = divide(population, 0)
    assert (len(division.private), len(division.candidates), len(division.scored)) == (private, half, half)
    assert set(np.bincount(population.labels[division.private])) == {each}


def test_people_of_each_class_are_drawn(population: Population, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a rule by class: neither the private people of a class nor the public ones are the first."""
    monkeypatch.setitem(divisions_of_people._BY_CLASS, "generated", (3, 5))
    people = replace(population, name="generated")
    divisions = [divide(people, seed) for seed in range(8)]
    assert divisions[0].rule.startswith("3 a class")
    for part in ("private", "candidates", "scored"):
        assert len({tuple(getattr(division, part).tolist()) for division in divisions}) == 8
    for division in divisions:
        assert set(np.bincount(people.labels[division.private])) == {3}
        assert not set(division.private) & set(division.public) and len(division.public) == 10
    rest = np.setdiff1d(np.arange(len(people)), divisions[0].private)
    assert not np.array_equal(divisions[0].candidates, rest[:5])


def test_the_public_graph_has_labels_only_for_a_baseline_and_none_of_the_scored(population: Population) -> None:
    division = divide(population, 0)
    unlabelled = public_graph(population, division, labelled=False)
    assert (unlabelled.labels == -1).all() and len(unlabelled) == len(division.public)
    labels = public_graph(population, division, labelled=True).labels
    asked = np.isin(division.public, division.candidates)
    assert np.array_equal(labels[asked], population.labels[division.candidates])
    assert (labels[~asked] == -1).all() and (~asked).sum() == len(division.scored)


def test_private_and_public_people_share_no_edge(population: Population) -> None:
    division = divide(population, 0)
    left, right = population.edges
    graph = public_graph(population, division, labelled=False)
    ends = np.stack([np.repeat(np.arange(len(graph)), np.diff(graph.indptr)), graph.indices])
    for nodes, edges in (
        (division.private, owned_people(population, division).edges),
        (division.public, ends[:, ends[0] < ends[1]]),
    ):
        inside = np.isin(left, nodes) & np.isin(right, nodes)
        found = {tuple(sorted(pair)) for pair in nodes[edges].T.tolist()}
        assert found == set(zip(left[inside].tolist(), right[inside].tolist(), strict=True))
        assert inside.any() and not inside.all()


def test_an_edge_that_one_end_leaves_out_is_no_edge(population: Population) -> None:
    division = divide(population, 0)
    people = division.private
    whole = {person: population.record(person) for person in people.tolist()}
    edges = handed_over(population.facts, division, whole).edges
    person, other = people[edges[:, 0]].tolist()
    record = population.record(person)
    short = type(record)(record.feature_indices, record.feature_values,
                         record.neighbours[record.neighbours != other], record.label)  # fmt: skip
    changed = {**whole, person: short}
    left = handed_over(population.facts, division, changed).edges
    before, after = ({tuple(pair) for pair in found.T.tolist()} for found in (edges, left))
    assert before - after == {tuple(edges[:, 0].tolist())} and not after - before
