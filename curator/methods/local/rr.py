"""Plain randomised response (Warner 1965, https://doi.org/10.1080/01621459.1965.10480775).

The network runs on the reports. Each reported 1 is a directed edge: i takes features from the nodes that it reported.
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
        """Return every reported 1, from the reported node to the reporter."""
        if reports.adjacency is None:
            raise ValueError("rr needs adjacency reports, and these hold none")
        ones = reports.adjacency.tocoo()
        return np.stack([ones.col, ones.row]).astype(np.int64), None, {"ones": ones.nnz}
