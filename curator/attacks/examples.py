"""Small instances of every mechanism, all of whose draws can be enumerated.

A mechanism is made by its own ``from_epsilon``. Each argument without a default, and a grid
if there is one, is filled in from small public facts. A mechanism that needs something else
has a class method ``audit_examples()`` that returns (mechanism, facts) pairs.
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

# Range, epsilon, reporting. Ranges that begin at 0 hide a forgotten lower end.
SETTINGS = (((0.0, 1.0), 1.0, "both"), ((-1.0, 1.0), 1.0, "one-end"), ((0.0, 1.0), 3.0, "both"))
SIZES = ((4, 3), (2, 1))  # people, features


@dataclass(frozen=True, eq=False)
class Person:
    """A person's data in the form that mechanisms read (``ldpsim.devices.data.population.Record``)."""

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
    """

    mechanism: Mechanism
    facts: PublicFacts

    @property
    def device(self) -> int:
        """The device whose report is audited: the one with the longest row."""
        return self.facts.n - 1

    @property
    def grouping(self) -> tuple[int, ...] | None:
        """A public grouping for a mechanism that needs one."""
        return grouping_for(self.mechanism, self.facts.n)

    def people(self) -> dict[tuple[Any, ...], Person]:
        """Return the values of the attributes that are compared, each with a person who has it.

        Some lie outside the public range or domain: the loss must hold whatever the data are. Of several
        attributes all values are combined.
        """
        first, *others = self.mechanism.reads
        found = dict(_people(first, self.facts, self.device))
        for also in others:
            more = dict(_people(also, self.facts, self.device))
            found = {one + other: replace(a, **of_attribute(b, also))
                     for (one, a), (other, b) in itertools.product(found.items(), more.items())}  # fmt: skip
        return found


def grouping_for(mechanism: Mechanism, n: int) -> tuple[int, ...] | None:
    """Return a public grouping of n nodes, None for a mechanism that needs none."""
    if not isinstance(mechanism, GroupDegrees) or mechanism.takes(None):
        return None
    return tuple(node % mechanism.groups for node in range(n))


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
    found = []
    for n, d in SIZES:
        of_size: list[Example] = []
        for (low, high), epsilon, reporting in SETTINGS:
            facts = PublicFacts(n, d, 3, low, high)
            made = make(kind, epsilon, facts, reporting=reporting)
            if made is not None and all(made != other.mechanism for other in of_size):
                of_size.append(Example(made, facts))
        if of_size:
            found.append(of_size)
    if not found:
        raise ValueError(f"{kind.name} cannot be made from public facts: give it audit_examples()")
    return found


def make(kind: type[Mechanism], epsilon: float, facts: PublicFacts, *, reporting: str = "both") -> Mechanism | None:
    """Make a mechanism from its ``from_epsilon``; None where its arguments do not fit these facts."""
    build: Any = getattr(kind, "from_epsilon")  # noqa: B009 - not every mechanism has one
    known = {
        "n": facts.n, "d": facts.d, "categories": facts.classes, "classes": facts.classes, "facts": facts,
        "low": facts.feature_low, "high": facts.feature_high, "groups": 1, "delta": 1e-3, "grid": 2,
        "m": max(1, facts.d - 1), "reporting": reporting,
    }  # fmt: skip
    given = {name: known[name] for name in list(inspect.signature(build).parameters)[1:] if name in known}
    try:
        made = build(epsilon, **given)
    except (TypeError, ValueError):
        return None
    return made if isinstance(made, Mechanism) and made.agrees_with(facts) else None


def of_attribute(person: Person, attribute: str) -> dict[str, Any]:
    """Return the fields of a person that hold this attribute."""
    names = {"adjacency": ("neighbours",), "features": ("feature_indices", "feature_values"), "label": ("label",)}
    return {name: getattr(person, name) for name in names[attribute]}


def _people(attribute: str, facts: PublicFacts, device: int) -> Iterator[tuple[tuple[Any, ...], Person]]:
    nobody, nothing = np.zeros(0, np.int32), np.zeros(0, np.float32)
    if attribute == "label":
        for label in (*range(facts.classes), -1, facts.classes):
            yield (label,), Person(nobody, nothing, nobody, label)
    elif attribute == "adjacency":
        others = [node for node in range(facts.n) if node != device]
        for bits in itertools.product((0, 1), repeat=len(others)):
            near = np.array([node for node, bit in zip(others, bits, strict=True) if bit], np.int32)
            yield bits, Person(nobody, nothing, near, 0)
    else:
        low, high = facts.feature_low, facts.feature_high
        rest = (low,) * (facts.d - 1)
        strange = [(value, *rest) for value in ((low + high) / 2, high + 7.0, low - 7.0, math.nan)]
        for values in (*itertools.product((low, high), repeat=facts.d), *strange):
            dense = np.array(values, np.float32)
            stored = np.flatnonzero(dense != 0).astype(np.int32)
            # nan is not equal to itself, so the key has a word in its place
            key = tuple("nan" if math.isnan(v) else v for v in values)
            yield key, Person(stored, dense[stored], nobody, 0)
