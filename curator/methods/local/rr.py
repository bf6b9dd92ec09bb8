"""Plain randomised response: the network runs on the reports as they came.

Each reported 1 is a directed edge: i takes features from those whom its own report names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from curator.methods.base import Budget
from curator.methods.local.links import LinkMethod, ReconstructedLinks
from curator.reports.reports import Reports
from devices.facts import PublicFacts
from devices.mechanisms import Mechanism, RandomizedResponse


@dataclass(frozen=True)
class RR(LinkMethod):
    """The graph of all reported ones."""

    name: ClassVar[str] = "rr"
    paper: ClassVar[str] = "Warner, Randomized Response; a baseline of Blink"
    training_defaults: ClassVar[Mapping[str, Any]] = {"epochs": 200}

    def adjacency(self, facts: PublicFacts, budget: Budget, epsilon: float) -> tuple[Mechanism, ...]:
        """Randomised response on the row."""
        return (RandomizedResponse.from_epsilon(epsilon, n=facts.n, reporting=budget.reporting),)

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Every reported 1, from the named to the reporter."""
        if reports.adjacency is None:
            raise ValueError("rr needs adjacency reports, and these hold none")
        ones = reports.adjacency.tocoo()
        return np.stack([ones.col, ones.row]).astype(np.int64), None, {"ones": ones.nnz}
