"""The ablation of HoGS (Xu et al. 2026, Section V-D, https://arxiv.org/abs/2602.08762): parts replaced, or left out.

``topology="blink"`` takes the pairs that Blink's posterior (:mod:`ldpsim.curator.methods.local.blink`)
finds more likely than not, and its P_ij as the weights of eq. 10. The degree that Blink needs
is asked for ``degree_share`` of eps_a. ``"and"`` and ``"or"`` take the pairs whose reports all,
or any, say 1; ``"noisy"`` takes each reported 1 as a directed edge.

``features="kprop"`` replaces Algorithm 3 by LPGNN's KProp with K = l on the reconstructed edges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator.linear.propagation import adjacency_matrix, kprop_matrix
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.methods.local.blink import chosen_links, link_posterior, row_and_degree
from ldpsim.curator.methods.local.hogs import HoGS, link_weights, mean_with_self
from ldpsim.curator.methods.local.links import both_ways, reported_edges
from ldpsim.curator.methods.memory import MemoryLaw
from ldpsim.curator.methods.parameters import ABOVE_0, check_choices, check_shares, parameter
from ldpsim.curator.methods.spec import TRAINING_GRID, MethodSpec
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rows import reported_pairs
from ldpsim.devices.facts import IntArray, PublicFacts, PublicKnowledge
from ldpsim.devices.mechanisms import Mechanism

TOPOLOGIES = ("hogs", "blink", "and", "or", "noisy")
FEATURES = ("weighted", "kprop")


@dataclass(frozen=True)
class HoGSAblation(HoGS):
    """HoGS and the parts of its ablation; with the defaults it is HoGS.

    Args:
        topology: ``hogs`` (Algorithm 2), ``blink``, ``and``, ``or`` or ``noisy``.
        features: ``weighted`` (Algorithm 3) or ``kprop``.
        degree_share: Share of eps_a for the degree that ``topology="blink"`` asks for, in (0, 1).

    Raises:
        ValueError: for a parameter outside its range.

    >>> HoGSAblation(topology="blink").degree_share
    0.1
    """

    tau: float = parameter(0.9, topology=("hogs",))
    topology: str = "hogs"
    features: str = parameter("weighted", l=ABOVE_0)
    degree_share: float = parameter(0.1, topology=("blink",))

    spec = replace(HoGS.spec, query_grid={**HoGS.spec.query_grid, "degree_share": (0.1, 0.3, 0.5)})

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choices(self, topology=TOPOLOGIES, features=FEATURES)
        check_shares(self, "degree_share")

    def in_force(self) -> MethodSpec:
        """As :meth:`Method.in_force`; Blink's topology fits whole degrees, which both ends report."""
        spec = super().in_force()
        return replace(spec, options=spec.options - {"reporting"}) if self.topology == "blink" else spec

    def perturb_adjacency(self, facts: PublicFacts, budget: Budget, eps_a: float) -> tuple[Mechanism, ...]:
        """Algorithm 1's randomised response; Blink's topology asks for the degree as well."""
        if self.topology != "blink":
            return super().perturb_adjacency(facts, budget, eps_a)
        share = self.degree_share
        return row_and_degree(facts, budget, (1 - share) * eps_a, share * eps_a, "topology=blink")

    def reconstruct_topology(
        self, reports: Reports, public: PublicKnowledge
    ) -> tuple[IntArray, csr_array, dict[str, Any]]:
        """Algorithm 2 or its replacement; with ``features="kprop"`` KProp's matrix for the weights."""
        if self.topology == "hogs":
            edges, weights, notes = super().reconstruct_topology(reports, public)
        elif self.topology == "blink":
            edges, weights, notes = _blinks_topology(reports)
        else:
            edges, weights, notes = _reported_pairs(reports, self.topology)
        if self.features == "kprop":
            weights = kprop_matrix(adjacency_matrix(reports.facts.n, edges))
        return edges, weights, notes

    def reasons(self, budget: Budget) -> tuple[str, ...]:
        """As :meth:`HoGS.reasons`; Blink's topology asks for the degree too."""
        degree = "Blink's topology asks for the degree too: eps_a is what bit and degree lose together"
        return (*super().reasons(budget), *((degree,) if self.topology == "blink" else ()))


def _blinks_topology(reports: Reports) -> tuple[IntArray, csr_array, dict[str, Any]]:
    posterior, notes = link_posterior(reports)
    pairs, _ = chosen_links(posterior, "hard", 0.0, notes)
    weights = link_weights(pairs.left, pairs.right, pairs.probability, reports.facts.n)
    return both_ways(pairs.left, pairs.right), weights, notes


def _reported_pairs(reports: Reports, topology: str) -> tuple[IntArray, csr_array, dict[str, Any]]:
    graph = reported_pairs(reports, topology).astype(np.float32)  # i takes the features of row i
    edges = reported_edges(graph)
    undirected = np.unique(edges.min(axis=0) * reports.facts.n + edges.max(axis=0))
    return edges, mean_with_self(graph), {"edges": len(undirected)}


@dataclass(frozen=True)
class Noisy(HoGSAblation):
    """The network on the reports of HoGS's devices, without any reconstruction.

    Each reported 1 is a directed edge. The reported feature bits are the features, each column
    brought to mean 0 and standard deviation 1. The parameters can put parts of HoGS back.
    """

    l: int = 0  # noqa: E741 - the paper's name
    topology: str = "noisy"

    spec = replace(
        HoGSAblation.spec, name="noisy", memory=MemoryLaw(work=16.0, listed=True, estimates=True),
        paper="reference: the reports of HoGS as they came", search_grid=(TRAINING_GRID,),
        query_grid={"feature_share": HoGS.spec.query_grid["feature_share"]},
    )  # fmt: skip
