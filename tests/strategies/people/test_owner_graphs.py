"""Graphs of an owner's run: labels that a student may see, and edges that both ends handed over."""

from __future__ import annotations

import numpy as np

from ldpsim.devices.data.population import Population
from ldpsim.strategies.people.owner_graphs import divide, handed_over, owned_people, public_graph


def test_the_public_graph_has_labels_only_for_a_baseline_and_none_of_the_scored(population: Population) -> None:
    division = divide(population, 0)
    unlabelled = public_graph(population, division, labelled=False)
    assert (unlabelled.labels == -1).all() and len(unlabelled) == len(division.public)
    labels = public_graph(population, division, labelled=True).labels
    asked = np.isin(division.public, division.asked)
    assert np.array_equal(labels[asked], population.labels[division.asked])
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
