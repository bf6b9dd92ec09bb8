"""Shared parts of the local methods, and :class:`LinkMethod`, the base of those that protect links alone.

A link method has the setting of Blink (Zhu et al. 2023) and its baselines: features are
public, labels are public or reported under noise, and all of epsilon goes to the adjacency. A concrete
method defines the mechanisms about the adjacency and the links that it makes of the reports.

Its plainest methods are here: randomised response, its symmetric and thinned forms, and label propagation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ldpsim.curator import options as o
from ldpsim.curator.linear.scaling import PUBLIC_SCALINGS, scale_public
from ldpsim.curator.methods.base import (
    Budget,
    Graph,
    LocalMethod,
    MethodSpec,
    Question,
    of_an_edge,
    option_in_errors,
)
from ldpsim.curator.methods.local.graphs import labelled_graph
from ldpsim.curator.methods.local.label_questions import StageMechanisms, with_labels
from ldpsim.curator.methods.parameters import one_of, parameter
from ldpsim.curator.privacy.guarantee import Claim
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.shown import shown_loss
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import RandomizedResponse
from ldpsim.devices.query import Ask

ReconstructedLinks = tuple[IntArray, Any, dict[str, Any]]  # edges int64 (2, E), weights float32 (E,) or None, notes


@dataclass(frozen=True)
class LinkMethod(LocalMethod):
    """A method that protects links alone.

    Args:
        public_scaling: Scaling of the public features.

    Raises:
        ValueError: for an unknown scaling.
    """

    public_scaling: str = parameter("row-normalised", one_of(*PUBLIC_SCALINGS))

    spec = MethodSpec(
        private=("adjacency",), public_features=True, mechanisms=("randomized_response", "grr"),
        options=o.SPLIT | o.REPORTS | o.NETWORK | o.LABELS | {"epsilon"}, finer=("eps_adjacency",),
    )  # fmt: skip

    def stages(self, facts: PublicFacts, budget: Budget, epsilon: float) -> StageMechanisms:
        """Return the mechanisms about the adjacency by stage: randomised response on the row, unless overridden.

        Raises:
            ValueError: if ``epsilon`` does not fit.
        """
        return ((RandomizedResponse.from_epsilon(epsilon, n=facts.n, reporting=budget.reporting),),)

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Return edges, weights and notes."""
        raise NotImplementedError

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Ask everybody about the adjacency; ask the labelled nodes for private labels."""
        if self.spec.public_features and not budget.public_features:
            raise ValueError(f"{self.spec.name} protects links alone: it needs public features")
        epsilon = budget.eps_adjacency or budget.epsilon
        with option_in_errors("--eps-adjacency", budget.eps_adjacency, budget, epsilon):
            first, *later = self.stages(facts, budget, epsilon)
        asks = (Ask("adjacency", first),)
        return with_labels(asks, facts, split, budget, collection, self.spec.name, later=tuple(later))

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Return the public features on the links made of the reports."""
        if public.features is None:
            raise ValueError(f"{self.spec.name} needs public features, and there are none")
        edges, weights, notes = self.links(reports)
        features = scale_public(public.features, self.public_scaling)
        return labelled_graph(features, edges, weights, notes, reports, public)

    def claim(self, budget: Budget) -> Claim:
        """Return the claim: epsilon for one bit of a list."""
        epsilon = budget.eps_adjacency or budget.epsilon
        return Claim(f"epsilon-link LDP, epsilon = {shown_loss(epsilon)}", epsilon, (self.edge_loss(budget),))

    def edge_loss(self, budget: Budget) -> str:
        """Return why the loss of an edge differs from that of one bit."""
        return of_an_edge(budget)
