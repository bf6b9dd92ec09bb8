"""Small instances of every mechanism, all of whose draws can be enumerated.

A mechanism is made by its own ``from_epsilon``. Each argument without a default, and a grid if there is one, is filled
in from small public facts. A mechanism that needs something else has a class method ``audit_examples()`` that returns
(mechanism, facts) pairs.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GroupDegrees, Mechanism
from ldpsim.devices.mechanisms.mechanism import equal_values, one_report, one_value

# Range, epsilon, reporting, classes. Ranges that begin at 0 hide a forgotten lower end, and three classes a loss that
# leaves out the rarest of several kinds of wrong answers.
SETTINGS = (
    ((0.0, 1.0), 1.0, "both", 3),
    ((-1.0, 1.0), 1.0, "one-end", 3),
    ((0.0, 1.0), 3.0, "both", 3),
    ((0.0, 1.0), 1.0, "both", 5),
)
SIZES = ((4, 3), (2, 1))  # people, features
Value = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Person:
    """A person's data in the form that mechanisms read, since a curator reaches no device's record."""

    feature_indices: np.ndarray
    feature_values: np.ndarray
    neighbours: np.ndarray
    label: int


@dataclass(frozen=True)
class Example:
    """A mechanism at small size.

    Args:
        mechanism: The instance.
        facts: The public facts it was made for.
        device: The device whose report is audited; -1 for the one with the longest row.
        groups: Public group of every person; None: :attr:`grouping` makes one where the mechanism needs it.
    """

    mechanism: Mechanism
    facts: PublicFacts
    device: int = -1
    groups: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "device", self.device % self.facts.n)

    @property
    def grouping(self) -> tuple[int, ...] | None:
        """A public grouping for a mechanism that needs one."""
        if self.groups is not None or not isinstance(self.mechanism, GroupDegrees) or self.mechanism.takes(None):
            return self.groups
        return tuple(node % self.mechanism.groups for node in range(self.facts.n))

    def respond(self, person: Any, noise: Any) -> list[bytes]:
        """Draw reports of a person, one for each row of the noise."""
        size = len(noise)
        return self.mechanism.respond([person] * size, noise, devices=[self.device] * size, grouping=self.grouping)

    def draw(self, person: Any, noise: Any) -> Any:
        """Draw reports of a person, one for each row of the noise, and leave them as they are drawn."""
        values = equal_values(self.mechanism, person, len(noise), self.device, self.grouping)
        return self.mechanism.draw(values, noise)

    def value_of(self, person: Any) -> Any:
        """Return the part of a person's data that the mechanism reads."""
        return one_value(self.mechanism, person, self.device, self.grouping)

    def log_probability(self, report: bytes, value: Any) -> float:
        """Return the logarithm of the probability that the mechanism states."""
        return self.mechanism.log_probability(one_report(self.mechanism, report, self.device), value)

    def people(self) -> dict[Value, Person]:
        """Return the values of the attributes that are compared, each with a person who has it.

        Some lie outside the public range or domain: the loss must hold whatever the data are. Of several
        attributes all values are combined.
        """
        first, *others = self.mechanism.reads
        people = dict(_people(first, self.facts, self.device))
        for name in others:
            more = dict(_people(name, self.facts, self.device))
            people = {one + other: with_attribute(a, b, name)
                      for (one, a), (other, b) in itertools.product(people.items(), more.items())}  # fmt: skip
        return people


def examples(kind: type[Mechanism]) -> list[list[Example]]:
    """Return small instances of a mechanism in several ranges and budgets, by size, the larger ones first.

    Raises:
        ValueError: where it cannot be made from public facts.
    """
    own = getattr(kind, "audit_examples", None)
    if own is not None:
        return [[Example(mechanism, facts) for mechanism, facts in own()]]
    if not hasattr(kind, "from_epsilon"):
        return []
    sizes = []
    for n, d in SIZES:
        made: dict[Mechanism, Example] = {}
        for (low, high), epsilon, reporting, classes in SETTINGS:
            facts = PublicFacts(n, d, classes, low, high)
            mechanism = make(kind, epsilon, facts, reporting=reporting)
            if mechanism is not None:
                made.setdefault(mechanism, Example(mechanism, facts))
        sizes += [list(made.values())] if made else []
    if not sizes:
        raise ValueError(f"{kind.name} cannot be made from public facts: give it audit_examples()")
    return sizes


def make(kind: type[Mechanism], epsilon: float, facts: PublicFacts, /, **more: Any) -> Mechanism | None:
    """Make a mechanism from its ``from_epsilon``, one in clear from its fields; None where that does not fit.

    Args:
        kind: The mechanism.
        epsilon: Its budget.
        facts: Public facts.
        more: Other arguments, where it has them.
    """
    values = {
        "n": facts.n, "d": facts.d, "categories": facts.classes, "classes": facts.classes, "facts": facts,
        "low": facts.feature_low, "high": facts.feature_high, "groups": 1, "delta": 1e-3, "grid": 2,
        "m": max(1, facts.d - 1), "honest": 1, "words": True, "radius": 1.0, "shares": np.ones(facts.classes), **more,
    }  # fmt: skip
    build: Any = kind if kind.in_clear else getattr(kind, "from_epsilon", None)
    if build is None:
        return None
    arguments = {name: values[name] for name in inspect.signature(build).parameters if name in values}
    try:
        made = build(**arguments) if kind.in_clear else build(epsilon, **arguments)
    except (TypeError, ValueError):
        return None
    return made if isinstance(made, Mechanism) and made.agrees_with(facts) else None


def with_attribute(person: Person, other: Person, attribute: str) -> Person:
    """Return a person with this attribute of another one."""
    names = {"adjacency": ("neighbours",), "features": ("feature_indices", "feature_values"), "label": ("label",)}
    return replace(person, **{name: getattr(other, name) for name in names[attribute]})


def person_with(attribute: str, value: Any) -> Person:
    """Return a person with one attribute: a list of neighbours, dense features, or a label. All else is nothing."""
    dense = np.asarray(value if attribute == "features" else [], np.float32)
    stored = np.flatnonzero(dense).astype(np.int32)
    near = np.asarray(value if attribute == "adjacency" else [], np.int32)
    return Person(stored, dense[stored], near, value if attribute == "label" else 0)


def _people(attribute: str, facts: PublicFacts, device: int) -> Iterator[tuple[Value, Person]]:
    if attribute == "label":
        for label in (*range(facts.classes), -1, facts.classes):
            yield (label,), person_with("label", label)
    elif attribute == "adjacency":
        others = [node for node in range(facts.n) if node != device]
        for bits in itertools.product((0, 1), repeat=len(others)):
            yield bits, person_with("adjacency", list(itertools.compress(others, bits)))
    else:
        low, high = facts.feature_low, facts.feature_high
        rest = (low,) * (facts.d - 1)
        strange = [(value, *rest) for value in ((low + high) / 2, high + 7.0, low - 7.0, math.nan)]
        for values in (*itertools.product((low, high), repeat=facts.d), *strange):
            # nan is not equal to itself, so the key has a word in its place
            yield tuple("nan" if math.isnan(v) else v for v in values), person_with("features", values)
