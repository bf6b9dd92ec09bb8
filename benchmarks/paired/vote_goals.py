"""Goals of ``vote`` that were set before the measurement, by place."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.paired.cells import PUBLIC
from benchmarks.paired.summary import Place
from benchmarks.paired.vote_cells import FEW, NO_FEATURES

_EPSILONS = ("1", "2", "4", "8")
_GAINS = {"cora": (1, 3.5, 7, 10), "citeseer": (0.5, 1.5, 2.5, 3), "pubmed": (0.3, 0.6, 1.3, 1.6),
          "facebook": (0.4, 1, 2.5, 3)}  # fmt: skip

# Points above the strong null.
GAINS: Mapping[Place, float] = {
    **{(dataset, PUBLIC, epsilon): goal for dataset, goals in _GAINS.items()
       for epsilon, goal in zip(_EPSILONS, goals, strict=True)},
    ("cora", FEW, "4"): 10,
}  # fmt: skip
# Test accuracy in percent.
ACCURACIES: Mapping[Place, float] = {
    ("cora", NO_FEATURES, "2"): 46, ("cora", NO_FEATURES, "4"): 72, ("cora", NO_FEATURES, "8"): 80,
    ("citeseer", NO_FEATURES, "4"): 56, ("citeseer", NO_FEATURES, "8"): 61,
}  # fmt: skip
SAFETY = 0.5  # points below features alone that are allowed anywhere, or two standard errors
