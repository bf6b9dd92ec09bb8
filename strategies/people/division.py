"""Division of people for an owner's method: private people, public people to ask about, and people to score.

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
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import IntArray, Split

PRIVATE, PUBLIC = 0.4, 0.3  # shares of all people, by the rule of others: private, and each public part
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
    first, second = round(PRIVATE * len(order)), round((PRIVATE + PUBLIC) * len(order))
    rule = f"{PRIVATE:.0%} private, {PUBLIC:.0%} and {PUBLIC:.0%}"
    return _division(order[:first], order[first:second], order[second:], rule)


def _division(private: IntArray, candidates: IntArray, scored: IntArray, rule: str) -> Division:
    return Division(np.sort(candidates), np.zeros(0, np.int64), np.sort(scored), np.sort(private), rule)
