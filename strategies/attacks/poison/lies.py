"""Lies of one cell: who lies, and the record that each liar claims.

Liars are people who are there, or accounts that join with the numbers after those of the people. Each attack makes
the whole record of every liar: a label, the features of a real person, and a list. Honest people stay as they are, so
an honest end denies what a liar claims about it, but for noise.

Liars are drawn from a seed of their own and nested: those of a small share are among those of a larger one. People,
division, honest secrets and honest noise are the same in every cell.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.records import Record, records_by_column
from ldpsim.devices.facts import Split

NONE, SILENT = "none", "silent"  # nobody lies; the liars do not answer, which is the control
CHOSEN_CLASS, CHOSEN_PEOPLE = 0, 20  # what the liars want, and the number of people whom some attacks are about


@dataclass(frozen=True, eq=False)
class Liars:
    """Liars of a cell, and whom they look at.

    Args:
        people: The honest population; a liar who is one of it has a true record here.
        numbers: int64, sorted: the numbers of the liars.
        targets: int64: chosen test people, who are honest.
        seed: Of what the liars choose at random.
    """

    people: Population = field(repr=False)
    numbers: IntArray = field(repr=False)
    targets: IntArray = field(repr=False)
    seed: int

    @property
    def links(self) -> int:
        """Number of people whom a liar names: the mean degree of the people, 1 at least."""
        return max(1, round(float(self.people.degrees.mean())))

    def rng(self, name: str) -> np.random.Generator:
        """Return random numbers for one purpose."""
        return np.random.default_rng(seed_of(name, self.seed, len(self.numbers)))

    def in_turn(self, wanted: IntArray) -> list[IntArray]:
        """Return a list of wanted people for every liar; the next liar goes on behind them."""
        size = min(self.links, len(wanted))
        return [wanted[(place * size + np.arange(size)) % len(wanted)] for place in range(len(self.numbers))]


@dataclass(frozen=True, eq=False)
class Claims:
    """Claimed records of the liars.

    Args:
        labels: int64 (liars,), the class that each says to be of.
        faces: int64 (liars,), the person whose features each has copied.
        lists: The people, and other liars, whom each names.
    """

    labels: IntArray
    faces: IntArray
    lists: Sequence[IntArray]


def _random(liars: Liars) -> Claims:
    rng, n, count = liars.rng("random"), len(liars.people), len(liars.numbers)
    lists = [rng.choice(n, min(liars.links, n), replace=False) for _ in liars.numbers]
    return Claims(rng.integers(liars.people.facts.classes, size=count), rng.integers(n, size=count), lists)


def _largest_degree(liars: Liars) -> Claims:
    everybody = np.union1d(np.arange(len(liars.people)), liars.numbers)
    return replace(_random(liars), lists=[everybody for _ in liars.numbers])


def _one_class(liars: Liars) -> Claims:
    others = np.setdiff1d(np.flatnonzero(liars.people.labels != CHOSEN_CLASS), liars.numbers)
    return _of_class(liars, liars.rng("wanted").permutation(others))


def _pairs(liars: Liars) -> Claims:
    claims, size = _of_class(liars, liars.targets), liars.links + 1
    groups = [liars.numbers[start : start + size] for start in range(0, len(liars.numbers), size)]
    mates = [group for group in groups for _ in group]
    return replace(claims, lists=[np.concatenate(both) for both in zip(claims.lists, mates, strict=True)])


def _of_class(liars: Liars, wanted: IntArray) -> Claims:
    if not len(wanted):
        wanted = np.arange(len(liars.people))
    labels = np.full(len(liars.numbers), CHOSEN_CLASS)
    return Claims(labels, np.resize(wanted, len(labels)), liars.in_turn(wanted))


@dataclass(frozen=True)
class Attack:
    """One attack: a line about it, and what makes its claims."""

    description: str
    claims: Callable[[Liars], Claims] = field(repr=False)


ATTACKS: Mapping[str, Attack] = {
    "random": Attack("any class, anybody's features, and as many random links as the mean person", _random),
    "largest-degree": Attack("as random, and a list that names everybody", _largest_degree),
    "one-class": Attack("one class, with features of people of other classes and links to them", _one_class),
    "pairs": Attack("one class, with features of chosen people and links to them; liars confirm one another", _pairs),
}


def lying_people(liars: Liars, attack: str, *, public_graph: bool) -> Population:
    """Return the people with the claims of the liars in the place of their records, or after all records.

    Accounts that are silent have no label, no features and no list. In a public graph nobody can change the list of
    somebody who is there; an account adds itself to the lists of those whom it names.
    """
    people, n = liars.people, len(liars.people)
    joined = [number for number in liars.numbers.tolist() if number >= n]
    nothing = Record(np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(0, np.int32), -1)
    records = [*(people.record(number) for number in range(n)), *[nothing] * len(joined)]
    claims = ATTACKS[attack].claims(liars) if attack in ATTACKS else Claims(np.zeros(0, int), np.zeros(0, int), [])
    followers: dict[int, list[int]] = {}
    for number, label, face, friends in zip(liars.numbers.tolist(), claims.labels.tolist(), claims.faces.tolist(),
                                            claims.lists, strict=attack in ATTACKS):  # fmt: skip
        near = np.setdiff1d(friends, [number]).astype(np.int32)
        if public_graph and number < n:
            near = records[number].neighbours
        elif public_graph:
            for other in near.tolist():
                followers.setdefault(other, []).append(number)
        records[number] = replace(people.record(face), neighbours=near, label=label)
    for number, others in followers.items():
        near = np.union1d(records[number].neighbours, others).astype(np.int32)
        records[number] = replace(records[number], neighbours=near)
    columns = records_by_column(records)
    return replace(
        people, facts=replace(people.facts, n=len(records)), own_split=None, feature_indptr=columns.feature_starts,
        feature_indices=columns.feature_indices, feature_values=columns.feature_values,
        neighbour_indptr=columns.neighbour_starts, neighbour_indices=columns.neighbours, labels=columns.labels,
    )  # fmt: skip


def with_labels_of(split: Split, joined: IntArray, seed: int) -> Split:
    """Return the split with accounts among the people who give a label, in the proportion of the honest people.

    None of them is a test person.
    """
    order = np.random.default_rng(seed_of("split", seed, len(joined))).permutation(joined)
    trains = round(len(joined) * len(split.train) / max(1, len(split.train) + len(split.val)))
    return replace(split, train=np.union1d(split.train, order[:trains]), val=np.union1d(split.val, order[trains:]))


def draw_liars(people: int, share: float, seed: int, *, join: bool) -> IntArray:
    """int64, sorted: a share of all people; or as many accounts that join."""
    if join:
        return np.arange(people, people + round(share * people))
    order = np.random.default_rng(seed_of("liars", seed)).permutation(people)
    return np.sort(order[: round(share * people)]).astype(np.int64)


def choose_targets(honest: IntArray, seed: int) -> IntArray:
    """int64, sorted: chosen people among these."""
    drawn = np.random.default_rng(seed_of("targets", seed)).permutation(honest)
    return np.sort(drawn[:CHOSEN_PEOPLE]).astype(np.int64)


def seed_of(name: str, *numbers: int) -> Sequence[int]:
    """Return a seed of its own for a name and numbers."""
    text = " ".join(["ldpsim poison", name, *map(str, numbers)])
    return list(hashlib.sha256(text.encode()).digest()[:16])
