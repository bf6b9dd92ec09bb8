"""Graphs of an owner's run: what the private people handed over, and what the public people show.

Only this module makes an ``OwnedGraph``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from ldpsim.curator.nulls.inputs import NullInputs
from ldpsim.curator.owned import OwnedGraph, Trust
from ldpsim.curator.owner.aggregation.sums import HandedLists
from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.records import Record
from ldpsim.devices.facts import IntArray, PublicFacts, Split
from ldpsim.strategies.people.division import Division


def sparse_features(population: Population) -> Any:
    """Return the features as a float32 scipy CSR matrix (n, d)."""
    return csr_array(
        (population.feature_values, population.feature_indices, population.feature_indptr),
        shape=(population.facts.n, population.facts.d),
    )


def joined_rows(parts: Sequence[np.ndarray], kind: type) -> tuple[IntArray, np.ndarray]:
    """Return rows of different lengths as one array, after the places where each row starts and the last ends."""
    ends = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return ends, np.concatenate([np.zeros(0, kind), *parts]).astype(kind)


def owned_graph(population: Population, split: Split, *, trust: Trust) -> OwnedGraph:
    """Return the raw data of a whole population, with the trust level of its owner."""
    return OwnedGraph(population.facts, split, sparse_features(population), population.edges, population.labels, trust)


def public_graph(population: Population, division: Division, *, labelled: bool) -> PlainGraph:
    """Return the graph that the public people induce; labels of the people asked about only where ``labelled``."""
    nodes = division.public
    labels = np.full(len(nodes), -1, np.int64)
    if labelled:
        at = np.searchsorted(nodes, division.candidates)
        labels[at] = population.labels[division.candidates]
    return PlainGraph.build(sparse_features(population)[nodes], _inside(population.edges, nodes), labels)


def shown_publicly(
    population: Population, division: Division, nodes: IntArray, labels: IntArray, *, released: bool
) -> NullInputs:
    """Return what everybody may know: the public people's graph, and the labels of these nodes.

    The labels are public, or the owner has ``released`` them from the answers of private people.
    """
    label_of = np.full(len(population), -1, np.int64)
    label_of[nodes] = labels
    public = np.zeros(len(population), np.bool_)
    public[division.public] = True
    edges = population.edges
    features = csr_array(diags_array(public.astype(np.float32)) @ sparse_features(population))
    observed = ObservedLabels(label_of, population.facts.classes)
    return NullInputs(observed, division, edges[:, public[edges].all(axis=0)], features,
                        frozenset(("label",) if released else ()))  # fmt: skip


def owned_people(population: Population, division: Division, *, trust: Trust = "none") -> OwnedGraph:
    """Return the private people's graph as it is, for a baseline that nobody is asked for."""
    nodes = division.private
    return OwnedGraph(_facts(population.facts, len(nodes)), _all_train(len(nodes)),
                      sparse_features(population)[nodes], _inside(population.edges, nodes),
                      population.labels[nodes], trust)  # fmt: skip


def handed_over(facts: PublicFacts, division: Division, by_person: Mapping[int, Record]) -> OwnedGraph:
    """Put the records together; people who handed nothing over are not in the owner's data.

    An edge is there where both its ends handed it over.

    Args:
        facts: Sizes, ranges and domains.
        division: Private and public people.
        by_person: The record of each person who handed it over, in rising order.
    """
    people, records = np.array([*by_person], np.int64), list(by_person.values())
    starts, columns = joined_rows([record.feature_indices for record in records], np.int32)
    values = np.concatenate([record.feature_values for record in records])
    features = csr_array((values, columns, starts), shape=(len(people), facts.d))
    starts, neighbours = joined_rows([record.neighbours for record in records], np.int64)
    ends = np.stack([np.repeat(people, np.diff(starts)), neighbours])
    number = np.full(facts.n, -1, np.int64)
    number[people] = np.arange(len(people))
    listed = number[ends]
    listed = listed[:, (listed >= 0).all(axis=0)]
    low, high = listed.min(axis=0, initial=facts.n), listed.max(axis=0, initial=-1)
    pairs, times = np.unique(low * facts.n + high, return_counts=True)
    both = pairs[times == 2]
    labels = np.array([record.label for record in records], np.int64)
    return OwnedGraph(_facts(facts, len(people)), _all_train(len(people)), features,
                      np.stack([both // facts.n, both % facts.n]), labels, "trusted curator")  # fmt: skip


def handed_lists(facts: PublicFacts, by_person: Mapping[int, Record]) -> HandedLists:
    """Return the records, by person in rising order, with the names on their lists as they are."""
    people, records = np.array([*by_person], np.int64), list(by_person.values())
    labels = np.full(facts.n, -1, np.int64)
    labels[people] = [record.label for record in records]
    sizes = np.zeros(facts.n, np.int64)
    sizes[people] = [len(record.feature_indices) for record in records]
    columns = joined_rows([record.feature_indices for record in records], np.int32)[1]
    values = joined_rows([record.feature_values for record in records], np.float32)[1]
    features = csr_array((values, columns, np.concatenate([[0], np.cumsum(sizes)])), shape=(facts.n, facts.d))
    starts, names = joined_rows([record.neighbours for record in records], np.int64)
    return HandedLists(features, labels, np.repeat(people, np.diff(starts)), names)


def _facts(facts: PublicFacts, n: int) -> PublicFacts:
    return PublicFacts(**{**vars(facts), "n": n})


def _all_train(n: int) -> Split:
    nobody = np.zeros(0, np.int64)
    return Split(np.arange(n), nobody, nobody)


def _inside(edges: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    number = np.full(max(int(edges.max(initial=0)), int(nodes.max(initial=0))) + 1, -1, np.int64)
    number[nodes] = np.arange(len(nodes))
    ends = number[edges]
    return ends[:, (ends >= 0).all(axis=0)]
