"""Raw data for an owner. Only this module makes an ``OwnedGraph``.

Division of people for an owner's method: private people, public people to ask about, and people to score.

The private graph and the public graph share no person and no edge. Edges between them, and
people of neither part, are left out. The rules:

==============  ======================================================================
``computers``   250 a class private, then 3,000 public to ask about and 3,000 to score
                (Olatunji et al., Section 5.2)
``reddit``      300 a class private, 15,000 and 15,000 (same)
``ogbn-arxiv``  papers up to 2017 private, of 2018 to ask about, since 2019 to score: OGB's
                own training, validation and test nodes (same years; the paper prints the
                two public parts' sizes, 29,799 and 48,603, the other way round)
``cora``        100 a class private, 1,000 and 1,000 (the paper's published code)
``pubmed``      1,000 a class private, 3,000 and 3,000 (ours)
others          40% private, 30% and 30% (ours); also where a graph is too small for
                its own rule
==============  ======================================================================

Graphs of an owner's run: what the private people handed over, and what the public people show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from ldpsim.curator.nulls.models import NullEvidence
from ldpsim.curator.owned import OwnedGraph, Trust
from ldpsim.curator.owner.aggregation.sums import HandedLists
from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.reports.labels import LabelEvidence
from ldpsim.devices.data.population import Population, Record
from ldpsim.devices.facts import IntArray, PublicFacts, Split


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


def own(population: Population, split: Split, *, trust: Trust) -> OwnedGraph:
    """Return the raw data of a whole population as an owner has them, with the owner's trust level."""
    return OwnedGraph(population.facts, split, sparse_features(population), population.edges, population.labels, trust)


_BY_CLASS = {
    "computers": (250, 3000),
    "reddit": (300, 15000),
    "cora": (100, 1000),
    "pubmed": (1000, 3000),
}


@dataclass(frozen=True, eq=False)
class Division(Split):
    """A split of an owner's run: disjoint sorted arrays of people, all with a label.

    The student trains on the public people asked about (``train``) and is scored on the
    other public ones (``test``); nobody validates.

    Args:
        private: People whose records the owner has.
        rule: The rule in words.
    """

    private: IntArray
    rule: str

    @property
    def candidates(self) -> IntArray:
        """Public people whose labels may be asked of the owner."""
        return self.train

    @property
    def scored(self) -> IntArray:
        """Public people on whom the student is scored."""
        return self.test

    @property
    def public(self) -> IntArray:
        """All public people, sorted."""
        return np.sort(np.concatenate([self.candidates, self.scored]))


def divide(population: Population, seed: int) -> Division:
    """Divide a population by the rule of its data set.

    Raises:
        ValueError: if fewer than ten people have a label.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    labels = population.labels
    labelled = np.flatnonzero(labels >= 0)
    if len(labelled) < 10:
        raise ValueError(
            f"{population.name}: {len(labelled)} people with a label are too few to divide; at least 10 are needed"
        )
    if population.name in _BY_CLASS:
        each, half = _BY_CLASS[population.name]
        sizes = np.bincount(labels[labelled], minlength=population.facts.classes)
        if sizes.min() >= each and len(labelled) >= each * len(sizes) + 2 * half:
            chosen = [rng.choice(np.flatnonzero(labels == c), each, replace=False) for c in range(len(sizes))]
            private = np.sort(np.concatenate(chosen))
            rest = rng.permutation(np.setdiff1d(labelled, private))
            return _division(private, rest[:half], rest[half : 2 * half], f"{each} a class private, {half} and {half}")
    if population.name == "ogbn-arxiv" and population.own_split is not None:
        years = population.own_split
        return _division(years.train, years.val, years.test, "papers up to 2017 private, of 2018 and since 2019")
    order = rng.permutation(labelled)
    first, second = round(0.4 * len(order)), round(0.7 * len(order))
    return _division(order[:first], order[first:second], order[second:], "40% private, 30% and 30%")


def _division(private: IntArray, candidates: IntArray, scored: IntArray, rule: str) -> Division:
    return Division(np.sort(candidates), np.zeros(0, np.int64), np.sort(scored), np.sort(private), rule)


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
) -> NullEvidence:
    """Return what everybody may know: the public people's graph, and the labels of these nodes.

    The labels are public, or the owner has ``released`` them from the answers of private people.
    """
    label_of = np.full(len(population), -1, np.int64)
    label_of[nodes] = labels
    public = np.zeros(len(population), np.bool_)
    public[division.public] = True
    edges = population.edges
    features = csr_array(diags_array(public.astype(np.float32)) @ sparse_features(population))
    evidence = LabelEvidence(label_of, population.facts.classes)
    return NullEvidence(evidence, division, edges[:, public[edges].all(axis=0)], features,
                        frozenset(("label",) if released else ()))  # fmt: skip


def owned_people(population: Population, division: Division, *, trust: Trust = "none") -> OwnedGraph:
    """Return the private people's graph as it is, for a baseline that nobody is asked for."""
    nodes = division.private
    return OwnedGraph(_facts(population.facts, len(nodes)), _all_train(len(nodes)),
                      sparse_features(population)[nodes], _inside(population.edges, nodes),
                      population.labels[nodes], trust)  # fmt: skip


def handed_over(facts: PublicFacts, division: Division, came: Mapping[int, Record]) -> OwnedGraph:
    """Put the records that came together; people who were silent are not in the owner's data.

    An edge is there where both its ends handed it over.

    Args:
        facts: Sizes, ranges and domains.
        division: Private and public people.
        came: The record of each person who handed it over, in rising order.
    """
    people, records = np.array([*came], np.int64), list(came.values())
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


def handed_lists(facts: PublicFacts, came: Mapping[int, Record]) -> HandedLists:
    """Return the records that came, by person in rising order, with the names on their lists as they are."""
    people, records = np.array([*came], np.int64), list(came.values())
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
