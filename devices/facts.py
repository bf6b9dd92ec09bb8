"""Public knowledge about a population, known before anyone is asked.

A range, a domain or a class list that is computed from private values is itself a
release, so everything here is a public constant. Devices compare the facts in a query
with the facts they enrolled with (``policy.py``); a method in ``curator`` gets them as
:class:`PublicKnowledge` beside the reports and gets nothing else.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
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
        ValueError: for sizes below 1 or above :data:`LARGEST_SIZE`, an empty range, or lists of the wrong length.

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
        if self.n < 1 or self.d < 0 or self.classes < 0:
            raise ValueError(f"facts need n >= 1, d >= 0, classes >= 0, not {self.n}, {self.d}, {self.classes}")
        if max(self.n, self.d, self.classes) > LARGEST_SIZE:
            raise ValueError(f"facts need sizes up to {LARGEST_SIZE}, not {self.n}, {self.d}, {self.classes}")
        for name in ("feature_low", "feature_high"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if not self.feature_low < self.feature_high:
            raise ValueError(f"the feature range [{self.feature_low}, {self.feature_high}] is empty")
        if self.class_names and len(self.class_names) != self.classes:
            raise ValueError(f"{len(self.class_names)} class names for {self.classes} classes")

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON-ready values."""
        return {**asdict(self), "domains": list(self.domains), "class_names": list(self.class_names)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> PublicFacts:
        """Read the facts back from :meth:`to_dict`."""
        return cls(**{**values, "domains": tuple(values["domains"]), "class_names": tuple(values["class_names"])})


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
