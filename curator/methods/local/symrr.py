"""Symmetric randomised response (Imola et al. 2021, https://arxiv.org/abs/2010.08688), as in Blink's comparison.

The report of one end of each pair counts for both directions. Only that end is asked (one-end
reporting), so an edge loses eps and not 2 eps. The published code of the comparison draws both
ends' bits and keeps the lower triangle and, by mistake, the diagonal above it. The lower
triangle is meant, and is asked here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ldpsim.curator.methods.base import ONE_END, Budget
from ldpsim.curator.methods.local.links import LinkMethod, ReconstructedLinks, both_ways, reported_edges
from ldpsim.curator.methods.memory import MemoryLaw
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import Mechanism, RandomizedResponse


@dataclass(frozen=True)
class SymRR(LinkMethod):
    """The pairs whose larger id reported a 1."""

    spec = replace(
        LinkMethod.spec, name="symrr", memory=MemoryLaw(work=16.0, listed=True),
        paper="Imola et al., Locally Differentially Private Analysis of Graph Statistics; as in Blink",
        training_defaults={"epochs": 200},
    )  # fmt: skip

    def adjacency(self, facts: PublicFacts, budget: Budget, epsilon: float) -> tuple[Mechanism, ...]:
        """Randomised response about j < i, for every kind of reporting."""
        return (RandomizedResponse.from_epsilon(epsilon, n=facts.n, reporting="one-end"),)

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Return every reported 1 in both directions."""
        named, reporter = reported_edges(reports.needed("adjacency"))
        return both_ways(named, reporter), None, {"edges": len(named)}

    def reasons(self, budget: Budget) -> tuple[str, ...]:
        """As :meth:`LinkMethod.reasons`; reporting is always one-end here."""
        return (ONE_END,)
