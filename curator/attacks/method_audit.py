"""Audit of a method: its guarantee beside the exact loss of its own questions.

A local method is audited at small size. Its own questions are made for four people, the
draws of every mechanism are enumerated (:mod:`laws`) at every device, and the losses are
added level by level. Reports of different attributes and devices are independent, so their
losses add. Each level has trials as well: reports of all devices that see the change are
drawn before and after it.

An owner's method (PrivGnn, PATE) is audited on the noisy label of a query, by quadrature
instead of the accountant's sums, and by trials on the code that releases labels. A reference
claims nothing; its row says so.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ldpsim.curator.attacks.bounds import lower_bound
from ldpsim.curator.attacks.examples import Person, grouping_for, of_attribute
from ldpsim.curator.attacks.laws import NotWalkable, law_of, worst_ratio
from ldpsim.curator.attacks.mechanism_audit import AuditRow, Effort, Stream
from ldpsim.curator.methods import Budget, Method, Question
from ldpsim.curator.methods.base import questions_asked
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.curator.privacy.levels import level_spec
from ldpsim.devices.facts import PublicFacts, Split
from ldpsim.devices.mechanisms import Mechanism, gaussian
from ldpsim.devices.query import ATTRIBUTES

SIZES = ((4, 2), (4, 12), (8, 3), (24, 4))  # people, features: the first at which a method can ask anything
CLASSES = (2, 6)
BUDGETS = (
    Budget(epsilon=2.0), Budget(epsilon=2.0, eps_labels=1.0, private_labels=True),
    Budget(epsilon=2.0, eps_adjacency=1.0, eps_features=1.0, eps_labels=1.0), Budget(epsilon=2.0, public_features=True),
)  # fmt: skip
_Part = tuple[int, tuple[str, ...], int | None]  # device, attributes, entry; None: all of each attribute
_LIST = ("adjacency",)
_DRAWN = 200
_ROUNDING = 1e-8  # every part of a sum is rounded up at 1e-9
_TRIALS = 2_000  # a side and level: a report of a whole method takes as long as ten of a mechanism


def audit_method(
    kind: type[Method], effort: Effort, *, stream: Stream, asked: tuple[Method, Budget] | None = None
) -> list[AuditRow]:
    """Audit a method; one row a level.

    Args:
        kind: The method.
        effort: Trials and confidence.
        stream: Makes the noise of a trial from a key of 32 bytes: the devices' own, ``NoiseStream``.
        asked: The method with its parameters, and its budget. None: the defaults, and the first of small budgets that
            the method can ask with. An owner's labels are audited at one small setting, whatever is asked.
    """
    from ldpsim.curator.methods import OwnerMethod

    effort = replace(effort, trials=min(effort.trials, _TRIALS))
    method, budgets = (kind(), BUDGETS) if asked is None else (asked[0], (asked[1],))
    if isinstance(method, OwnerMethod):
        from ldpsim.curator.attacks.owner_audit import audit_owner

        return audit_owner(method, effort)
    if method.spec.reads:
        return [effort.nothing_claimed(kind.spec.name, "user", "sees raw data: nothing is claimed")]
    found = _setting(method, budgets)
    if isinstance(found, str):  # its parameters may be made for thousands: the default numbers among them become small
        few = {entry.name: 2 for entry in fields(method)  # type: ignore[arg-type]
               if _is_large(entry.default) and getattr(method, entry.name) == entry.default}  # fmt: skip
        small = _setting(replace(method, **few), budgets) if few else found  # type: ignore[type-var]
        found = found if isinstance(small, str) else small
    if isinstance(found, str):
        return [effort.not_audited(kind.spec.name, "user", found)]
    facts, questions, guarantee, budget = found
    bounded = [name for name, level in guarantee.holds.items() if level.status == "bounded"]
    if not bounded:
        return [
            effort.nothing_claimed(kind.spec.name, "user", "everything is unprotected or not asked: nothing is claimed")
        ]
    if not questions:
        return _trained_in_rounds(method, facts, guarantee, bounded, budget, effort)
    world = _World(facts, questions, stream)
    return [_level(method, world, guarantee, name, effort) for name in bounded]


def _trained_in_rounds(
    method: Any, facts: PublicFacts, guarantee: Guarantee, bounded: Sequence[str], budget: Budget, effort: Effort
) -> list[AuditRow]:
    """Audit a method without questions by its own ``gaussian_composition(facts, budget)``.

    That is (shift, sigma, times): every answer moves by ``shift`` at most in the L2 norm, has
    Gaussian noise of deviation ``sigma``, and there are ``times`` of them. Together they are
    one Gaussian mechanism of shift * sqrt(times), whose curve is exact.
    """
    own = getattr(method, "gaussian_composition", None)
    rows = []
    for name in bounded:
        level = guarantee.holds[name]
        assert level.value is not None
        exact, how = None, "asks no questions, and says nothing of its noise: give it gaussian_composition()"
        if own is not None and level.delta > 0:
            shift, sigma, times = own(facts, budget)
            exact = gaussian.epsilon_of(level.delta, shift=shift * math.sqrt(times), sigma=sigma)
            how = f"{times} Gaussian answers, delta {level.delta:g}"
        passed = exact is not None and exact <= level.value + _ROUNDING
        rows.append(AuditRow(method.spec.name, name, level.value, exact, None, effort.confidence, 0, passed, how))
    return rows


def _is_large(value: Any) -> bool:
    return type(value) is int and value > 4


def _setting(
    method: Method, budgets: Sequence[Budget]
) -> tuple[PublicFacts, tuple[Question, ...], Guarantee, Budget] | str:
    """Return the smallest population that the method can ask, or the reason why there is none."""
    why = ""
    for classes, (n, d) in itertools.product(CLASSES, SIZES):
        facts = PublicFacts(n, d, classes)
        nodes = np.arange(n)
        split = Split(nodes[: n // 2], nodes[n // 2 : n // 2 + n // 4], nodes[n // 2 + n // 4 :])
        for budget in budgets:
            try:
                questions = questions_asked(method, facts, split, budget, "audit")
                return facts, questions, method.guarantee(facts, questions, budget), budget
            except (ValueError, TypeError) as error:
                why = why or str(error)
    return f"it can ask nobody at small size: {why}"


class _World:
    """The questions to each person, and the loss of each answer."""

    def __init__(self, facts: PublicFacts, questions: Sequence[Question], stream: Stream) -> None:
        self.facts, self._stream = facts, stream
        self.asked: dict[tuple[int, str], list[Mechanism]] = {}
        for question in questions:
            devices = range(facts.n) if question.devices is None else question.devices.tolist()
            for device, stage in itertools.product(devices, question.query.plan):
                for ask in stage:
                    self.asked.setdefault((device, ask.attribute), []).extend(ask.mechanisms)
        self._known: dict[tuple[int, Mechanism, tuple[str, ...], Hashable], tuple[float, bool]] = {}
        self._unwalkable: set[Mechanism] = set()

    def answers(self, device: int, attributes: tuple[str, ...]) -> Iterator[tuple[Mechanism, tuple[str, ...]]]:
        """Yield the answers of a device that depend on these attributes, each once, with those that it depends on."""
        for own in ATTRIBUTES:
            for mechanism in self.asked.get((device, own), []):
                read = tuple(name for name in attributes if name == own or name in mechanism.reads)
                if read:
                    yield mechanism, read

    def person(self, attributes: tuple[str, ...], device: int, changed: bool, entry: int | None) -> Person:
        """A person whose ``entry`` (None: everything) of these attributes is on or off."""
        found = self._person(attributes[0], device, changed, entry)
        for name in attributes[1:]:
            found = replace(found, **of_attribute(self._person(name, device, changed, entry), name))
        return found

    def _person(self, attribute: str, device: int, changed: bool, entry: int | None) -> Person:
        facts, none = self.facts, np.zeros(0, np.int32)
        if attribute == "label":
            return Person(none, np.zeros(0, np.float32), none, facts.classes - 1 if changed else 0)
        if attribute == "adjacency":
            near = [node for node in range(facts.n) if node != device] if entry is None else [entry]
            return Person(none, np.zeros(0, np.float32), np.array(near if changed else [], np.int32), 0)
        value = facts.feature_high if changed else facts.feature_low
        dense = np.full(facts.d, facts.feature_low, np.float32)
        dense[slice(None) if entry is None else entry] = value
        stored = np.flatnonzero(dense).astype(np.int32)
        return Person(stored, dense[stored], none, 0)

    def loss(self, device: int, attributes: tuple[str, ...], entry: int | None) -> tuple[float, bool]:
        """(exact loss, whether all draws were walked through) of one change at one device, both ways."""
        total, walked = 0.0, True
        for mechanism, read in self.answers(device, attributes):
            key = (device if "adjacency" in mechanism.reads else -1, mechanism, read, entry)
            if key not in self._known:
                self._known[key] = self._loss(device, read, mechanism, entry)
            found, by_walk = self._known[key]
            total, walked = total + found, walked and by_walk
        return total, walked

    def _loss(self, device: int, read: tuple[str, ...], mechanism: Mechanism, entry: int | None) -> tuple[float, bool]:
        grouping = grouping_for(mechanism, self.facts.n)
        sides = [self.person(read, device, changed, entry) for changed in (False, True)]
        if read == ("adjacency",) and mechanism.reporting == "one-end" and entry is not None and entry >= device:
            return 0.0, True

        def draw(noise: Any, person: Person) -> bytes:
            return mechanism.respond([person], [noise], devices=[device], grouping=grouping)[0]  # type: ignore[list-item]

        try:
            if mechanism in self._unwalkable:
                raise NotWalkable
            laws = [law_of(lambda noise, p=person: draw(noise, p), most=5000) for person in sides]  # type: ignore[misc]
            return max(worst_ratio(*laws), worst_ratio(*reversed(laws))), True
        except NotWalkable:
            self._unwalkable.add(mechanism)
            values = [mechanism.value_of(p, device=device, grouping=grouping) for p in sides]  # type: ignore[arg-type]
            best = 0.0
            for number in range(_DRAWN):
                side = number % 2
                key = hashlib.sha256(f"{mechanism} {number}".encode()).digest()
                report = mechanism.decode(draw(self._stream(key), sides[side]), device=device)
                stated = [mechanism.log_probability(report, value) for value in values]
                best = max(best, abs(stated[0] - stated[1]))
            return best, False

    def changes(self, level: str) -> list[tuple[_Part, ...]]:
        """Return the changes at a level, each as the answers that depend on it; ValueError for an unknown level."""
        spec, people = level_spec(level), range(self.facts.n)
        if spec.unit == "edge":
            return [((i, _LIST, j), (j, _LIST, i)) for i in people for j in range(i)]
        if spec.attribute is not None:
            entries = self._entries(spec.attribute) if spec.unit == "entry" else [(i, None) for i in people]
            return [((i, (spec.attribute,), entry),) for i, entry in entries]
        if spec.unit not in ("record", "node"):
            raise ValueError(f"{level}: reports of people do not show what changes at this level")
        mine: list[tuple[_Part, ...]] = [((i, ATTRIBUTES, None),) for i in people]
        if spec.unit == "record":
            return mine
        return [own + tuple((j, _LIST, i) for j in people if j != i) for i, own in enumerate(mine)]

    def _entries(self, attribute: str) -> list[tuple[int, int | None]]:
        people = range(self.facts.n)
        if attribute == "label":
            return [(i, None) for i in people]
        last = self.facts.n if attribute == "adjacency" else self.facts.d
        return [(i, j) for i in people for j in range(last) if attribute != "adjacency" or i != j]

    def sample(self, change: Sequence[_Part], side: bool, label: str, trials: int) -> list[bytes]:
        """Reports of everybody who sees a change, joined, ``trials`` times."""
        seen = [
            (device, mechanism, self.person(read, device, side, entry))
            for device, attributes, entry in change
            for mechanism, read in self.answers(device, attributes)
        ]
        drawn = []
        for number in range(trials):
            parts = []
            for place, (device, mechanism, person) in enumerate(seen):
                key = hashlib.sha256(f"{label} {side} {number} {place}".encode()).digest()
                grouping = grouping_for(mechanism, self.facts.n)
                noise = [self._stream(key)]
                parts += mechanism.respond([person], noise, devices=[device], grouping=grouping)  # type: ignore[list-item]
            drawn.append(b"|".join(parts))
        return drawn


def _level(method: Method, world: _World, guarantee: Guarantee, level: str, effort: Effort) -> AuditRow:
    claimed = guarantee.holds[level].value
    assert claimed is not None
    clear = {"label"} if any(name == "label" and entry.status == "unprotected" for name, entry in
                             guarantee.holds.items()) else set()  # fmt: skip
    worst, walked, change = -1.0, True, None
    for candidate in world.changes(level):
        counted = [(i, tuple(name for name in names if name not in clear), entry) for i, names, entry in candidate]
        losses = [world.loss(*part) for part in counted]
        total = math.fsum(found for found, _ in losses)
        if total > worst:
            worst, walked, change = total, all(by_walk for _, by_walk in losses), counted
    assert change is not None
    name = f"{effort.seed} {method.spec.name} {level}"
    sides = [world.sample(change, side, name, effort.trials) for side in (False, True)]
    bound = lower_bound(*sides, error=effort.error, delta=guarantee.holds[level].delta)
    how = "walked through" if walked else "ratios of drawn reports"
    delta = guarantee.holds[level].delta
    passed = (delta > 0 or worst <= claimed + _ROUNDING) and bound <= claimed
    return AuditRow(method.spec.name, level, claimed, worst, bound, effort.confidence, effort.trials, passed, how)
