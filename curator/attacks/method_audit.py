"""Audit of a method: its guarantee beside the exact loss of its own questions.

A local method is audited at small size. Its own questions are made for a few people, the draws of every mechanism are
enumerated (:mod:`ldpsim.curator.attacks.distributions`) at every device, and the losses are added level by level. A
method of several rounds is also asked by its own protocol (:mod:`ldpsim.curator.attacks.drawn_rounds`). Reports of
different attributes and devices are independent, so their losses add. What the draws of a mechanism's code show in
trials stands in the audit of the mechanism.

An owner's method (PrivGnn, PATE, GAP) is audited on what it releases (:mod:`ldpsim.curator.attacks.owner_audit`). A
reference claims nothing; its row says so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ldpsim.curator.additive_noise import GAUSSIAN, AdditiveNoise
from ldpsim.curator.attacks.distributions import NotWalkable
from ldpsim.curator.attacks.drawn_rounds import drawn_rounds, every_stage
from ldpsim.curator.attacks.examples import Example, Person, person_with, with_attribute
from ldpsim.curator.attacks.mechanism_audit import (
    AuditRow,
    Effort,
    Pair,
    Stream,
    largest_loss,
    largest_ratio,
    output_distributions,
)
from ldpsim.curator.methods import Budget, Method, OwnerMethod, Question
from ldpsim.curator.methods.base import LocalMethod, questions_asked
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.curator.privacy.levels import level_spec
from ldpsim.curator.reports.question import stages_of
from ldpsim.devices.facts import PublicFacts, Split
from ldpsim.devices.mechanisms import Mechanism
from ldpsim.devices.mechanisms.mechanism import Grouping
from ldpsim.devices.query import ATTRIBUTES

SIZES = ((4, 2), (4, 12), (8, 3), (24, 4))  # people, features: the first at which a method can ask anything
CLASSES = (2, 6)
BUDGETS = (
    Budget(epsilon=2.0), Budget(epsilon=2.0, eps_labels=1.0, private_labels=True),
    Budget(epsilon=2.0, eps_adjacency=1.0, eps_features=1.0, eps_labels=1.0), Budget(epsilon=2.0, public_features=True),
    Budget(epsilon=2.0, volunteers=True),
)  # fmt: skip
_Part = tuple[int, tuple[str, ...], int | None]  # device, attributes, entry; None: all of each attribute
_LIST = ("adjacency",)
_ROUNDING = 1e-8  # every part of a sum is rounded up at 1e-9
_MOST = 5000  # outcomes of the draws of one answer
_WAYS: list[Pair] = [((0,), (1,)), ((1,), (0,))]  # of a change: off and on


def audit_method(
    kind: type[Method], effort: Effort, *, stream: Stream, of_run: tuple[Method, Budget] | None = None
) -> list[AuditRow]:
    """Audit a method; one row a level.

    Args:
        kind: The method.
        effort: Confidence, and trials of an owner's releases.
        stream: Makes the noise of drawn reports from keys of 32 bytes: the devices' own, ``Noise``.
        of_run: The method with its parameters, and its budget. None: the defaults, and the first of small budgets that
            the method can ask with. An owner's labels are audited at one small setting, whatever is asked.
    """
    method: Method = kind()
    budgets: tuple[Budget, ...] = BUDGETS
    if of_run is not None:
        method, budgets = of_run[0], (of_run[1], replace(of_run[1], volunteers=True))
    name = kind.spec.name
    if isinstance(method, OwnerMethod):
        from ldpsim.curator.attacks.owner_audit import audit_owner  # it takes as long as a small run: scipy.stats

        return audit_owner(method, effort)
    if method.spec.reads:
        return [effort.nothing_claimed(name, "user", "sees raw data: nothing is claimed")]
    setting = _setting(method, budgets)
    if isinstance(
        setting, str
    ):  # its parameters may be made for thousands: the default numbers among them become small
        large = [entry.name for entry in fields(method)  # type: ignore[arg-type]
                 if type(entry.default) is int and getattr(method, entry.name) == entry.default > 4]  # fmt: skip
        small = _setting(replace(method, **dict.fromkeys(large, 2)), budgets)  # type: ignore[type-var]
        setting = setting if isinstance(small, str) else small
    if isinstance(setting, str):
        return [effort.not_audited(name, "user", setting)]
    facts, split, questions, guarantee, budget = setting
    bounded = [level for level, entry in guarantee.holds.items() if entry.status == "bounded"]
    if not bounded:
        return [effort.nothing_claimed(name, "user", "everything is unprotected or not asked: nothing is claimed")]
    if not questions or hasattr(method, "gaussian_composition"):
        return [_in_rounds(method, facts, guarantee, level, budget, effort) for level in bounded]
    asked = [every_stage(questions)]
    if isinstance(method, LocalMethod) and (method.spec.in_batches or stages_of(questions) > 1):
        try:
            asked += [drawn_rounds(method, facts, split, budget, questions, stream=stream)]
        except ValueError as error:
            return [effort.not_audited(name, "user", f"its rounds cannot be walked through at small size: {error}")]
    worlds = [World(facts, each, stream) for each in asked]
    return [_level(name, worlds, guarantee, level, effort) for level in bounded]


def _in_rounds(
    method: Any, facts: PublicFacts, guarantee: Guarantee, name: str, budget: Budget, effort: Effort
) -> AuditRow:
    """Audit a method that adds Gaussian noise by its own ``gaussian_composition(facts, budget)``.

    That is (shift, sigma, times), or one for each level: every answer moves by ``shift`` at most in the L2 norm, has
    Gaussian noise of deviation ``sigma``, and there are ``times`` of them. Where everybody whose record may change is
    in every answer, these are together one Gaussian mechanism, whose curve is exact. Where a round draws some of the
    devices, that curve is only an upper bound: the method returns None, and nothing is compared.
    """
    own, level = getattr(method, "gaussian_composition", None), guarantee.holds[name]
    assert level.value is not None
    exact: float | None = None
    passed: bool | None = False
    how = "asks no questions, and says nothing of its noise: give it gaussian_composition()"
    if own is not None and level.delta > 0:
        made = own(facts, budget)
        if made is None:
            passed, how = None, "devices are drawn: the figure without the draw is no lower bound"
        else:
            shift, sigma, times = made[name] if isinstance(made, Mapping) else made
            noise = AdditiveNoise(distribution=GAUSSIAN, scale=sigma, sensitivity=shift, rounds=times)
            exact = noise.epsilon(level.delta)
            passed, how = exact <= level.value + _ROUNDING, f"{times} Gaussian answers, delta {level.delta:g}"
    return AuditRow(method.spec.name, name, level.value, exact, None, effort.confidence, 0, passed, how)


def _setting(
    method: Method, budgets: Sequence[Budget]
) -> tuple[PublicFacts, Split, tuple[Question, ...], Guarantee, Budget] | str:
    """Return the smallest population that the method can ask, or the reason why there is none."""
    why = ""
    for classes, (n, d), budget in itertools.product(CLASSES, SIZES, budgets):
        facts = PublicFacts(n, d, classes)
        train, val, test = np.split(np.arange(n), [n // 2, n // 2 + n // 4])
        split = Split(train[:1], val, test, ordinary=train[1:]) if budget.volunteers else Split(train, val, test)
        try:
            questions = questions_asked(method, facts, split, budget, "audit")
            return facts, split, questions, method.guarantee(facts, questions, budget), budget
        except (ValueError, TypeError) as error:
            why = why or str(error)
    return f"it can ask nobody at small size: {why}"


class World:
    """The questions to each person, each at the stage at which it is asked, and the loss of each answer."""

    def __init__(self, facts: PublicFacts, questions: Sequence[Question], stream: Stream) -> None:
        self.facts, self._stream = facts, stream
        self._asked: dict[tuple[int, str], list[tuple[Mechanism, Grouping]]] = {}
        for question in questions:
            for device, ask in itertools.product(question.people(facts.n).tolist(), question.query.asks):
                given = [(mechanism, question.query.grouping) for mechanism in ask.mechanisms]
                self._asked.setdefault((device, ask.attribute), []).extend(given)
        self._losses: dict[tuple[int, Mechanism, Grouping, tuple[str, ...], Hashable], tuple[float, bool]] = {}
        self._unwalkable: set[Mechanism] = set()

    def loss(self, device: int, attributes: tuple[str, ...], entry: int | None) -> tuple[float, bool]:
        """(exact loss, whether all draws were walked through) of one change at one device, both ways."""
        losses = []
        for own in ATTRIBUTES:
            for mechanism, grouping in self._asked.get((device, own), []):
                read = tuple(name for name in attributes if name == own or name in mechanism.reads)
                key = (device if "adjacency" in mechanism.reads else -1, mechanism, grouping, read, entry)
                if read and key not in self._losses:
                    self._losses[key] = self._loss(read, Example(mechanism, self.facts, device, grouping), entry)
                losses += [self._losses[key]] if read else []
        return math.fsum(loss for loss, _ in losses), all(walked for _, walked in losses)

    def _loss(self, read: tuple[str, ...], example: Example, entry: int | None) -> tuple[float, bool]:
        mechanism, device = example.mechanism, example.device
        if read == _LIST and mechanism.reporting == "one-end" and entry is not None and entry >= device:
            return 0.0, True
        people = {(side,): self._person(read, device, bool(side), entry) for side in (0, 1)}
        try:
            if mechanism in self._unwalkable:
                raise NotWalkable
            return largest_loss(output_distributions(example, people, most=_MOST), _WAYS)[0], True
        except NotWalkable:
            self._unwalkable.add(mechanism)
            return largest_ratio(example, people, _WAYS, self._stream)[0], False

    def _person(self, attributes: tuple[str, ...], device: int, changed: bool, entry: int | None) -> Person:
        """A person whose ``entry`` (None: everything) of these attributes is on or off."""
        facts = self.facts
        near = [node for node in range(facts.n) if node != device] if entry is None else [entry]
        dense = np.full(facts.d, facts.feature_low)
        if changed and (entry is None or entry < facts.d):
            dense[slice(None) if entry is None else entry] = facts.feature_high
        values: dict[str, Any] = {
            "label": facts.classes - 1 if changed else 0, "adjacency": near if changed else [], "features": dense,
        }  # fmt: skip
        person = person_with("label", 0)
        for name in attributes:
            person = with_attribute(person, person_with(name, values[name]), name)
        return person

    def changes(self, level: str) -> Iterator[tuple[_Part, ...]]:
        """Yield the changes at a level, each as the answers that depend on it; ValueError for an unknown level."""
        spec, n = level_spec(level), self.facts.n
        people = range(n)
        if spec.unit == "edge":
            yield from (((i, _LIST, j), (j, _LIST, i)) for i in people for j in range(i))
        elif spec.attribute is not None:
            entries = {"adjacency": range(n), "features": range(self.facts.d), "label": [None]}[spec.attribute]
            for i, entry in itertools.product(people, entries if spec.unit == "entry" else [None]):
                if spec.attribute != "adjacency" or entry != i:
                    yield ((i, (spec.attribute,), entry),)
        elif spec.unit in ("record", "node"):
            for i in people:
                others = [(j, _LIST, i) for j in people if j != i and spec.unit == "node"]
                yield ((i, ATTRIBUTES, None), *others)
        else:
            raise ValueError(f"{level}: reports of people do not show what changes at this level")


def _level(name: str, worlds: Sequence[World], guarantee: Guarantee, level: str, effort: Effort) -> AuditRow:
    """Compare what is claimed with the largest sum of losses of all worlds; what is in clear is claimed for nobody.

    The sum is about delta 0. So above a claim with a delta it says nothing, nor does a ratio of drawn reports.
    """
    claimed, delta = guarantee.holds[level].value, guarantee.holds[level].delta
    assert claimed is not None
    clear = {"label"} if (entry := guarantee.holds.get("label")) and entry.status == "unprotected" else set()
    worst, walked = -1.0, True
    for world, change in ((each, change) for each in worlds for change in each.changes(level)):
        losses = [
            world.loss(i, tuple(name for name in names if name not in clear), entry) for i, names, entry in change
        ]
        total = math.fsum(loss for loss, _ in losses)
        if total > worst:
            worst, walked = total, all(by_walk for _, by_walk in losses)
    how = "walked through" if walked else "ratios of drawn reports"
    passed = worst <= claimed + _ROUNDING
    if delta > 0 and not (walked and passed):
        how = f"no figure here is about delta {delta:g}: audit its mechanism"
        return AuditRow(name, level, claimed, None, None, effort.confidence, 0, None, how)
    return AuditRow(name, level, claimed, worst, None, effort.confidence, 0, passed, how)
