"""Base of the methods that protect features on a public graph, with labels in clear: UPGNet and PrivGE.

Every device is asked once, for its features. ``--epsilon`` is the budget of the whole vector. Labels
are public unless ``--private-labels`` asks for them by GRR.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator import options as o
from ldpsim.curator.linear.propagation import adjacency_matrix
from ldpsim.curator.methods.base import Budget, LocalMethod, MethodSpec, Question, option_in_errors
from ldpsim.curator.methods.local.graphs import PUBLIC_GRAPH, both_ways
from ldpsim.curator.methods.local.label_questions import with_labels
from ldpsim.curator.privacy.guarantee import Claim
from ldpsim.curator.shown import shown_loss
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import ClearFeatures, Mechanism
from ldpsim.devices.query import Ask

LABELS = "labels and edges are sent in clear; the claim is about the features alone"
RANGES = "the range of a feature is public here; the published code takes it from the private data, without noise"


@dataclass(frozen=True)
class PublicGraphMethod(LocalMethod):
    """A method that asks for features alone; its graph is public."""

    spec = MethodSpec(
        private=("features",), common_selection=False, public_graph=True,
        options=o.SPLIT | o.REPORTS | o.NETWORK | o.LABELS | {"epsilon"}, finer=("eps_features",),
    )  # fmt: skip

    def mechanism_for(self, epsilon: float, facts: PublicFacts) -> Mechanism:
        """Return the mechanism about the features at a finite budget of the vector (ValueError if it does not fit)."""
        raise NotImplementedError

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Ask everybody for features; with private labels the labelled nodes are asked for them too."""
        if budget.public_features:
            raise ValueError(
                f"--public-features: {self.spec.name} asks for them; --eps-features inf asks for them in clear"
            )
        if budget.eps_adjacency is not None:
            raise ValueError(f"--eps-adjacency: {self.spec.name}'s graph is public")
        epsilon = _budget_of(budget)
        with option_in_errors("--eps-features", budget.eps_features, budget, epsilon):
            mechanism: Mechanism
            if math.isinf(epsilon):
                mechanism = ClearFeatures(facts.d, facts.feature_low, facts.feature_high)
            else:
                mechanism = self.mechanism_for(epsilon, facts)
        return with_labels((Ask("features", (mechanism,)),), facts, split, budget, collection, self.spec.name)

    def claim(self, budget: Budget) -> Claim:
        """Return the papers' claim."""
        epsilon = _budget_of(budget)
        return Claim(
            f"epsilon-LDP for features, epsilon = {shown_loss(epsilon)}", epsilon if math.isfinite(epsilon) else None,
            (LABELS, RANGES, PUBLIC_GRAPH),
        )  # fmt: skip

    def edges_of(self, public: PublicKnowledge) -> tuple[IntArray, csr_array]:
        """Return the public edges in both directions, int64 (2, E), and the adjacency, float32 CSR (n, n).

        Raises:
            ValueError: if there is no public graph.
        """
        if public.edges is None:
            raise ValueError(f"{self.spec.name} needs the public graph, and there is none")
        edges = both_ways(*public.edges)
        return edges, adjacency_matrix(public.facts.n, edges)


def _budget_of(budget: Budget) -> float:
    return budget.eps_features or budget.epsilon


def deviation_of(mechanism: Any) -> float:
    """Return the standard deviation of one entry's estimate at the low end of the range, 0 in clear."""
    if mechanism.in_clear:
        return 0.0
    d, low = mechanism.parameters()["d"], mechanism.parameters()["low"]
    return math.sqrt(float(mechanism.variance(np.full(d, low, np.float32))[0]))
