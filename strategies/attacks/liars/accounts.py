"""Fake accounts of ``ldpsim poison --inject``: devices that join, with records that an attacker made up.

The accounts have the numbers after those of the honest people. Each attack makes the record of every account: a
label, the features of a real person, and a list. A device of an account is enrolled with this record and answers
the same questions as all others. By an input lie the published app reports it. A response lie sends the worst bytes
for it (:mod:`strategies.attacks.liars.worst`).

An honest list never names an account, so an honest end denies every claim of one, up to its own noise. Where the graph
is public, an account adds edges to whom it likes, as on a site where anybody can follow anybody. It then has as many as
the mean person, so that its degree does not show. Links to chosen people are made in turn, and accounts among
themselves make up a mean degree, as in "Devil's Hand" (arXiv:2506.09803). Claims that raise the degree of chosen people
are those of arXiv:2412.19837.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from devices.array_types import IntArray
from devices.data.population import Population, Record
from devices.facts import LARGEST_SIZE, Split
from devices.mechanisms.base import Grouping, Mechanism
from strategies.attacks.liars.plan import Attack, LyingPlan, seed_of

_OF_TARGETS = ("misclassify", "connect", "influence")
_ROWS = frozenset({"adjacency", "noisy_rows", "degrees", "group_degrees"})


@dataclass(frozen=True, eq=False)
class Joining:
    """Accounts that join a population.

    Args:
        people: The honest people.
        accounts: Number of accounts.
        goal: One of :data:`strategies.attacks.liars.plan.GOALS`.
        targets: Chosen people.
        target_class: The chosen class.
        seed: Of what the attacker chooses at random.
        public_graph: Whether the graph is public: an account's edges are then in the lists of both ends.
    """

    people: Population = field(repr=False)
    accounts: int
    goal: str
    targets: IntArray = field(repr=False)
    target_class: int
    seed: int
    public_graph: bool = False

    @property
    def numbers(self) -> IntArray:
        """int64 (accounts,): the numbers of the accounts, after those of the people."""
        return np.arange(len(self.people), len(self.people) + self.accounts)

    @property
    def links(self) -> int:
        """Number of people whom an account names: the mean degree of the people, 1 at least."""
        return max(1, round(float(self.people.degrees.mean())))

    def rng(self, name: str) -> np.random.Generator:
        """Return random numbers for one purpose."""
        return np.random.default_rng(seed_of(name, self.seed, self.accounts))

    def wanted(self) -> IntArray:
        """int64: the people whom an attack is about: the chosen ones, or all of another class, in random order."""
        if self.goal in _OF_TARGETS and len(self.targets):
            return self.targets
        others = np.flatnonzero(self.people.labels != self.target_class)
        return self.rng("wanted").permutation(others if len(others) else np.arange(len(self.people)))

    def in_turn(self, each: int) -> list[IntArray]:
        """Return a list for every account: ``each`` wanted people, and the next account goes on behind them."""
        wanted = self.wanted()
        size = min(each, len(wanted))
        return [wanted[(place * size + np.arange(size)) % len(wanted)] for place in range(self.accounts)]


@dataclass(frozen=True, eq=False)
class Claims:
    """Records of the accounts.

    Args:
        labels: int64 (accounts,), the class that each says to be of.
        faces: int64 (accounts,), the person whose features each has copied.
        lists: The people and accounts whom each names.
    """

    labels: IntArray
    faces: IntArray
    lists: Sequence[IntArray]


def _random(joining: Joining) -> Claims:
    """Random people: any class, anybody's features, as many random links as the mean person has."""
    rng, n = joining.rng("random"), len(joining.people)
    classes = max(joining.people.facts.classes, 1)
    lists = [rng.choice(n, min(joining.links, n), replace=False) for _ in joining.numbers]
    return Claims(rng.integers(classes, size=joining.accounts), rng.integers(n, size=joining.accounts), lists)


def _degree(joining: Joining) -> Claims:
    """All name every chosen person, whose degree is to rise."""
    return replace(_random(joining), lists=[joining.targets for _ in joining.numbers])


def _class(joining: Joining) -> Claims:
    """The chosen class, with the features of people of another class and links to them."""
    labels = np.full(joining.accounts, joining.target_class)
    return Claims(labels, np.resize(joining.wanted(), joining.accounts), joining.in_turn(joining.links))


def _pairs(joining: Joining) -> Claims:
    """As :func:`_class`; also all accounts of a group name one another, which both ends confirm."""
    claims, size = _class(joining), joining.links + 1
    groups = [joining.numbers[start : start + size] for start in range(0, joining.accounts, size)]
    mates = [group[group != account] for group in groups for account in group]
    return replace(claims, lists=[np.concatenate(both) for both in zip(claims.lists, mates, strict=True)])


def _flood(joining: Joining) -> Claims:
    """As :func:`_class`; also all name everybody: an honest end that says 1 by noise confirms it."""
    everybody = np.arange(len(joining.people) + joining.accounts)
    return replace(_class(joining), lists=[np.delete(everybody, account) for account in joining.numbers])


def _own(plan: LyingPlan, device: int, mechanism: Mechanism | None, grouping: Grouping) -> Record:
    return plan.population.record(device)


_EVERY_FIELD = _ROWS | {"labels", "votes", "features"}
_ALL = (
    (Attack("join-random", "accounts of random people: any class, features and links", "untargeted", _EVERY_FIELD,
            _own, trains=True, joins=True), _random),
    (Attack("join-degree", "accounts that name every chosen person", "influence", _ROWS, _own, joins=True), _degree),
    (Attack("join-class", "accounts of the chosen class with features of another, linked to people of another",
            "inflate", _EVERY_FIELD, _own, trains=True, joins=True), _class),
    (Attack("join-pairs", "as join-class, in groups that confirm one another at both ends", "misclassify",
            _EVERY_FIELD, _own, joins=True), _pairs),
    (Attack("join-flood", "as join-class, and each names everybody", "inflate", _ROWS, _own, joins=True), _flood),
)  # fmt: skip
JOINING: Mapping[str, Attack] = {attack.name: attack for attack, _ in _ALL}
_MADE = {attack.name: make for attack, make in _ALL}


def claims_of(attack: str, joining: Joining) -> Claims:
    """Return the records of the accounts; other attacks than :data:`JOINING` have those of ``join-random``."""
    return _MADE.get(attack, _random)(joining)


def number_of(amount: float, people: int) -> int:
    """Return the number of accounts: an amount below 1 is a share of the honest people.

    Raises:
        ValueError: for more accounts than people.

    >>> number_of(0.05, 200), number_of(27, 200)
    (10, 27)
    """
    count = round(amount * people) if amount < 1 else int(amount)
    if count > people:
        raise ValueError(
            f"--inject {amount:.12g}: at most as many accounts as honest people, of whom there are {people}"
        )
    return count


def check_amount(amount: float) -> None:
    """Check a number of accounts, or a share, before anybody is loaded; ValueError of one line."""
    if not (0 <= amount < 1 or (1 <= amount <= LARGEST_SIZE and amount == int(amount))):
        raise ValueError(
            f"--inject {amount:.12g}: a share of the honest people, 0 or more and below 1, or a number of accounts"
        )


def with_accounts(joining: Joining, claims: Claims | None) -> Population:
    """Return the honest people and, after them, the accounts.

    Args:
        joining: The people, and the accounts.
        claims: Their records; None: accounts that never say anything have no label, no features and no list.

    Returns:
        Honest records stay as they are, unless the graph is public: a list then names the accounts that link to it.
    """
    people, n = joining.people, len(joining.people)
    if claims is None:
        nobody = [np.zeros(0, np.int64)] * joining.accounts
        claims = Claims(np.full(joining.accounts, -1), np.full(joining.accounts, -1), nobody)
    faces = [people.record(face) if face >= 0 else None for face in claims.faces.tolist()]
    sizes = [0 if face is None else len(face.feature_indices) for face in faces]
    copied = [face for face in faces if face is not None]
    lists = [np.unique(named) for named in claims.lists]
    counts = np.concatenate([people.degrees, [len(named) for named in lists]]).astype(np.int64)
    ends = np.concatenate([people.neighbour_indices.astype(np.int64), *lists])
    if joining.public_graph:
        size = n + joining.accounts
        starts = np.repeat(np.arange(size), counts)
        codes = np.unique(np.concatenate([starts * size + ends, ends * size + starts]))
        counts, ends = np.bincount(codes // size, minlength=size), codes % size
    return Population(
        people.name, replace(people.facts, n=n + joining.accounts),
        feature_indptr=np.concatenate([people.feature_indptr, people.feature_indptr[-1] + np.cumsum(sizes)]).astype(
            np.int64),
        feature_indices=np.concatenate([people.feature_indices, *(face.feature_indices for face in copied)]),
        feature_values=np.concatenate([people.feature_values, *(face.feature_values for face in copied)]),
        neighbour_indptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        neighbour_indices=ends.astype(np.int32),
        labels=np.concatenate([people.labels, claims.labels]).astype(np.int64),
    )  # fmt: skip


def with_labels_of(split: Split, joining: Joining) -> Split:
    """Return the split with the accounts among the people who give a label; none of them is a test person.

    The curator divides whoever gives a label: accounts train and validate in the proportion of the honest people.
    """
    order = joining.rng("split").permutation(joining.numbers)
    trains = round(joining.accounts * len(split.train) / max(1, len(split.train) + len(split.val)))
    train, val = order[:trains], order[trains:]
    return replace(split, train=np.sort(np.concatenate([split.train, train])),
                   val=np.sort(np.concatenate([split.val, val])))  # fmt: skip
