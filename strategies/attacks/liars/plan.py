"""Plan that the lying devices of one cell share: who lies, about what, and whom they look at.

Liars are drawn from a seed of their own and nested: those of a small share are among those of a larger
one. People, splits, honest secrets and honest noise are therefore the same in every cell.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from devices.array_types import IntArray
from devices.data.population import Population, Record
from devices.mechanisms.base import Grouping, Mechanism

LIES = ("input", "response")
KNOWLEDGE = ("none", "own", "neighbours", "all")
GOALS = {
    "untargeted": "lower the accuracy of honest test people",
    "misclassify": "chosen people get the chosen class",
    "connect": "the liars look connected to chosen people",
    "influence": "chosen people rise in degree rank",
    "inflate": "the share of the chosen class rises",
    "hide": "the liars' own edges vanish",
}


@dataclass(frozen=True, eq=False)
class Attack:
    """One attack.

    Args:
        name: Its name.
        description: One line about it.
        goal: Its goal, unless another one is asked for.
        fields: Arrays of the reports that it is about.
        claims: Returns the claimed record.
        lies: Kinds of lies that it has.
        adds: Whether a response adds ones to the honest report.
        about: Whether it is about a mechanism, of those with these fields; all of them by default.
        trains: Whether it is about the updates of a training, too.
        handed_over: Attribute of a record that is handed over raw, and that it changes; empty for none.
        joins: Whether it is one of fake accounts (:mod:`strategies.attacks.liars.accounts`), whose whole record lies.
    """

    name: str
    description: str
    goal: str
    fields: frozenset[str]
    claims: Callable[[LyingPlan, int, Mechanism | None, Grouping], Record] = field(repr=False)
    lies: tuple[str, ...] = LIES
    adds: bool = False
    about: Callable[[Mechanism], bool] = field(default=lambda mechanism: True, repr=False)
    trains: bool = False
    handed_over: str = ""
    joins: bool = False

    def fits(self, mechanism: Mechanism) -> bool:
        """Return whether the attack is about the reports of a mechanism."""
        if mechanism.name == "handed_over":
            return self.handed_over in mechanism.attributes
        return mechanism.field in self.fields and self.about(mechanism)

    def lies_about(self, mechanism: Mechanism) -> bool:
        """Return whether a liar's report by a mechanism is a lie."""
        return self.joins or self.fits(mechanism)


@dataclass(frozen=True, eq=False)
class LyingPlan:
    """Lies of one cell.

    Args:
        attack: The attack.
        lie: ``input`` or ``response``.
        goal: One of :data:`GOALS`.
        knowledge: One of :data:`KNOWLEDGE`; colluders share it.
        population: The people; an attack reads no more of it than its knowledge.
        liars: Devices that lie.
        targets: Chosen people.
        target_class: The chosen class.
        fakes: Number of people that ``fakes`` adds to a row.
        seed: Of what the liars choose at random.
        norm: Largest norm of an update that the server accepts; None where nothing bounds it.
    """

    attack: Attack
    lie: str
    goal: str
    knowledge: str
    population: Population = field(repr=False)
    liars: IntArray = field(repr=False)
    targets: IntArray = field(repr=False)
    target_class: int = 0
    fakes: int = 50
    seed: int = 0
    norm: float | None = None

    @cached_property
    def nodes(self) -> frozenset[int]:
        """Flower's node ids of the liars."""
        return frozenset((self.liars + 1).tolist())

    def record(self, device: int, mechanism: Mechanism | None = None, grouping: Grouping = None) -> Record:
        """Return the record that a liar claims; ``mechanism`` None: in a training, or to an owner."""
        return self.attack.claims(self, device, mechanism, grouping)

    def wanted(self, device: int) -> IntArray:
        """int64: the people whom a liar claims to know, the most wanted first.

        Chosen people come first, unless the goal is ``untargeted`` or ``inflate``. The others follow in
        random order: who knows only the question takes anybody, who knows all takes people of other classes.
        With the goal ``hide`` nobody is claimed.
        """
        if self.goal == "hide":
            return np.zeros(0, np.int64)
        people = self.population
        order = np.random.default_rng([self.seed, device]).permutation(len(people))
        left_out = {device}
        if self.knowledge != "none":
            left_out |= set(people.record(device).neighbours.tolist())
        if self.knowledge in ("neighbours", "all"):
            friends = people.record(device).neighbours.tolist()
            left_out |= {other for friend in friends for other in people.record(friend).neighbours.tolist()}
        order = order[~np.isin(order, sorted(left_out))]
        if self.knowledge == "all":
            order = order[people.labels[order] != people.labels[device]]
        if self.goal in ("misclassify", "connect", "influence"):
            first = self.targets[self.targets != device]
            order = np.concatenate([first, order[~np.isin(order, first)]])
        return order.astype(np.int64)

    def columns(self, size: int) -> IntArray:
        """int64 (size,), sorted: the features that all liars agreed on."""
        return agreed_columns(self.population.facts.d, size, self.seed)

    def other_class(self, device: int) -> int:
        """Return the class after the liar's own; a random one where it knows the question alone."""
        classes = max(self.population.facts.classes, 1)
        if self.knowledge == "none":
            return int(np.random.default_rng([self.seed, device, 1]).integers(classes))
        return (max(int(self.population.labels[device]), 0) + 1) % classes


def agreed_columns(d: int, size: int, seed: int) -> IntArray:
    """int64 (size,), sorted: a choice of d features, the same for all who know the seed."""
    return np.sort(np.random.default_rng([seed, d]).permutation(d)[:size])


def draw_liars(people: int, share: float, seed: int) -> IntArray:
    """int64, sorted: a share of all people; larger shares of one seed contain the smaller ones."""
    order = np.random.default_rng(seed_of("liars", seed)).permutation(people)
    return np.sort(order[: round(share * people)]).astype(np.int64)


def choose_targets(test: IntArray, liars: IntArray, wanted: int, seed: int) -> IntArray:
    """int64, sorted: chosen test people, none of whom is among the liars."""
    honest = np.setdiff1d(test, liars)
    drawn = np.random.default_rng(seed_of("targets", seed)).permutation(honest)
    return np.sort(drawn[:wanted]).astype(np.int64)


def seed_of(name: str, *numbers: int) -> Sequence[int]:
    """Return a seed of its own for a name and numbers."""
    text = " ".join(["ldpsim poison", name, *map(str, numbers)])
    return list(hashlib.sha256(text.encode()).digest()[:16])
