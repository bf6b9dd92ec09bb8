"""Symmetric randomised response: of each pair one end's report counts, for both directions.

Only that end is asked (one-end reporting), so an edge's loss is eps and not 2 eps. The
published code draws both ends' bits, keeps the lower triangle and, by a slip, the
diagonal above it; the lower triangle is what is meant, and what is asked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from curator.methods.base import Budget
from curator.methods.local.links import LinkMethod, ReconstructedLinks, both_ways
from curator.reports.reports import Reports
from devices.facts import PublicFacts
from devices.mechanisms import Mechanism, RandomizedResponse


@dataclass(frozen=True)
class SymRR(LinkMethod):
    """The pairs whose larger id reported a 1."""

    name: ClassVar[str] = "symrr"
    paper: ClassVar[str] = "Imola et al., Locally Differentially Private Analysis of Graph Statistics; as in Blink"
    training_defaults: ClassVar[Mapping[str, Any]] = {"epochs": 200}

    def adjacency(self, facts: PublicFacts, budget: Budget, epsilon: float) -> tuple[Mechanism, ...]:
        """Randomised response about j < i, however the devices may report."""
        return (RandomizedResponse.from_epsilon(epsilon, n=facts.n, reporting="one-end"),)

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Every reported 1, both ways."""
        if reports.adjacency is None:
            raise ValueError("symrr needs adjacency reports, and these hold none")
        ones = reports.adjacency.tocoo()
        return both_ways(ones.col.astype(np.int64), ones.row.astype(np.int64)), None, {"edges": ones.nnz}

    def reasons(self, budget: Budget) -> tuple[str, ...]:
        """What is asked is one-end, whatever the run's reporting."""
        return ("one end of a pair is asked: an undirected edge is reported once, so its loss is that of one bit",)
