"""Public knowledge about a population, known before anyone is asked.

A range, a domain or a class list that is computed from private values is itself a
release, so everything here is a public constant. Devices compare the facts in a query
with the facts they enrolled with (``policy.py``); a method in ``curator`` gets them as
:class:`PublicKnowledge` beside the reports and gets nothing else.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, asdict, dataclass, field, fields
from numbers import Integral, Real
from typing import Any

import numpy as np

from ldpsim.devices.array_types import IntArray as IntArray

LARGEST_SIZE = (1 << 31) - 1  # people and columns are numbered by int32
MOST_LOCAL_STEPS = 10_000  # of one answer in a federated training


@dataclass(frozen=True)
class PublicFacts:
    """Sizes, ranges and domains of a population.

    Args:
        n: Number of people (nodes).
        d: Number of features a person has.
        classes: Number of classes a label may take, 0 where there are no labels.
        feature_low, feature_high: Smallest and largest value a feature may take, kept as floats: a mechanism's bytes
            tell 0 from 0.0.
        domains: Number of categories of each categorical attribute, empty where
            features are numbers.
        class_names: Names of the classes, or empty.

    Raises:
        ValueError: one line: sizes below 1 or above :data:`LARGEST_SIZE`, a range that is empty or not finite, an empty
            domain, a list of the wrong length, or a value of another type.

    >>> facts = PublicFacts(n=4, d=3, classes=2)
    >>> PublicFacts.from_dict(facts.to_dict()) == facts
    True
    """

    n: int
    d: int
    classes: int
    feature_low: float = 0.0
    feature_high: float = 1.0
    domains: tuple[int, ...] = ()
    class_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("domains", "class_names"):
            if not isinstance(value := getattr(self, name), list | tuple):
                raise ValueError(f"{name} {value!r}: must be a list")
        if not all(isinstance(name, str) for name in self.class_names):
            raise ValueError("class_names: each must be text")
        plain: dict[str, Any] = {name: _whole(name, getattr(self, name)) for name in ("n", "d", "classes")}
        plain |= {name: _real(name, getattr(self, name)) for name in ("feature_low", "feature_high")}
        plain |= {"domains": tuple(_whole("domains", size) for size in self.domains)}
        plain |= {"class_names": tuple(self.class_names)}
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        if self.n < 1 or self.d < 0 or self.classes < 0:
            raise ValueError(f"facts need n >= 1, d >= 0, classes >= 0, not {self.n}, {self.d}, {self.classes}")
        if max(self.n, self.d, self.classes) > LARGEST_SIZE:
            raise ValueError(f"facts need sizes up to {LARGEST_SIZE}, not {self.n}, {self.d}, {self.classes}")
        if not 0 < self.feature_high - self.feature_low < math.inf:
            raise ValueError(f"the feature range [{self.feature_low}, {self.feature_high}] is empty or not finite")
        if min(self.domains, default=1) < 1:
            raise ValueError(f"a domain has 1 category at least, not {min(self.domains)}")
        if self.class_names and len(self.class_names) != self.classes:
            raise ValueError(f"{len(self.class_names)} class names for {self.classes} classes")

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON-ready values."""
        return {**asdict(self), "domains": list(self.domains), "class_names": list(self.class_names)}

    @classmethod
    def from_dict(cls, values: Any) -> PublicFacts:
        """Read the facts back from :meth:`to_dict`, or from JSON of somebody else; what has a default may be left out.

        Raises:
            ValueError: one line, for anything else.
        """
        names = {entry.name: entry.default is MISSING for entry in fields(cls)}
        wanted = {name for name, is_needed in names.items() if is_needed}
        if not isinstance(values, dict) or not wanted <= set(values) <= set(names):
            raise ValueError(f"public facts have {', '.join(names)}; only the first {len(wanted)} are needed")
        return cls(**values)


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name} {value!r}: must be a whole number")
    return int(value)


def _real(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name} {value!r}: must be a number")
    return float(value)


@dataclass(frozen=True, eq=False)
class Split:
    """Division of the people: disjoint sorted index arrays.

    Args:
        train, val, test: Training, validation and test nodes.
        ordinary: Beside volunteers: other people who know their label. Their devices may be asked for it under noise.
    """

    train: IntArray
    val: IntArray
    test: IntArray
    ordinary: IntArray = field(default_factory=lambda: np.zeros(0, np.int64), kw_only=True)

    @property
    def labelled(self) -> IntArray:
        """Nodes whose labels a curator may learn about: training and validation."""
        return np.sort(np.concatenate([self.train, self.val]))


@dataclass(frozen=True, eq=False)
class PublicKnowledge:
    """All that a local method may use besides the reports.

    Args:
        facts: Sizes, ranges and domains.
        split: Public division of the nodes.
        labels: int64 (n,), the public labels, -1 where a label is not public. Test
            labels are never here.
        features: float32 (n, d) as a scipy CSR matrix where features are public
            (HoGS Table III), else None.
        edges: int64 (2, m), each undirected edge once, where the graph is public
            (LPGNN, RGNN), else None.
    """

    facts: PublicFacts
    split: Split
    labels: IntArray = field(repr=False)
    features: Any = field(default=None, repr=False)
    edges: IntArray | None = field(default=None, repr=False)
