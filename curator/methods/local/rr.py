"""RR and SymRR: a graph of the ones that randomised response reports.

With the flip probability p = 1 / (1 + e^eps), each device i reports for every j

    A~_ij = A_ij with probability 1 - p, else 1 - A_ij.

``rr`` (Warner 1965, https://doi.org/10.1080/01621459.1965.10480775): everybody reports the whole list, and each
reported 1 is a directed edge: i takes features from the nodes that it reported.

``symrr`` (Imola et al. 2021, https://arxiv.org/abs/2010.08688), as in Blink's comparison: i reports about j < i alone
(one-end reporting), and the report counts for both directions. So an edge loses eps and not 2 eps. The published code
of the comparison draws both ends' bits and keeps the lower triangle and, by mistake, the diagonal above it. The lower
triangle is meant, and is asked here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ldpsim.curator.methods.base import (
    ONE_END,
    Budget,
)
from ldpsim.curator.methods.local.graphs import both_ways, reported_edges
from ldpsim.curator.methods.local.label_questions import StageMechanisms
from ldpsim.curator.methods.local.links import LinkMethod, ReconstructedLinks
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import RandomizedResponse


@dataclass(frozen=True)
class RR(LinkMethod):
    """The graph of all reported ones."""

    spec = replace(
        LinkMethod.spec, name="rr", memory="edges",
        paper="Warner, Randomized Response; a baseline of Blink", training_defaults={"epochs": 200},
        options=LinkMethod.spec.options | {"reporting"},
    )  # fmt: skip

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Return every reported 1, from the reported node to the reporter."""
        ones = reports.needed("adjacency")
        return reported_edges(ones), None, {"ones": ones.nnz}


@dataclass(frozen=True)
class SymRR(LinkMethod):
    """The pairs whose larger id reported a 1."""

    spec = replace(
        LinkMethod.spec, name="symrr", memory="edges",
        paper="Imola et al., Locally Differentially Private Analysis of Graph Statistics; as in Blink",
        training_defaults={"epochs": 200},
    )  # fmt: skip

    def stages(self, facts: PublicFacts, budget: Budget, epsilon: float) -> StageMechanisms:
        """Randomised response about j < i, for every kind of reporting."""
        return ((RandomizedResponse.from_epsilon(epsilon, n=facts.n, reporting="one-end"),),)

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Return every reported 1 in both directions."""
        neighbour, reporter = reported_edges(reports.needed("adjacency"))
        return both_ways(neighbour, reporter), None, {"edges": len(neighbour)}

    def edge_loss(self, budget: Budget) -> str:
        """As :meth:`LinkMethod.edge_loss`; reporting is always one-end here."""
        return ONE_END
