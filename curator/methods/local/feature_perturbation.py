"""FP-Blink and FP-LDPGen: the baselines of HoGS's paper with its features (Section V-A).

Xu et al. 2026, https://arxiv.org/abs/2602.08762.

The links are those of Blink or LDPGen. The features are asked by the 1-bit mechanism and reconstructed by HoGS's
Algorithm 3 on these links.

FP-Blink has three budgets from two shares, as HoGS's paper states them:

    eps_d = delta1 (1 - delta2) eps,   eps_a = delta1 delta2 eps,   eps_f = (1 - delta1) eps.

Blink's posterior P (:mod:`ldpsim.curator.methods.local.blink`) gives the edges and the weights of
Algorithm 3: X^_i is the mean over {j : P_ij >= .5} and i itself, weighted by P_ij, repeated l times.

FP-LDPGen has HoGS's shares: eps_a = (1 - delta) eps for the links, which both stages of LDPGen
(:mod:`ldpsim.curator.methods.local.ldpgen`) spend together, and eps_f = delta eps for each feature,
asked with the first stage. LDPGen's graph has link probabilities of groups, not of pairs. HoGS's
potential links are therefore the drawn ones: X^_i is the mean of the noisy vectors of i and its
neighbours in the drawn graph, repeated l times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from scipy.sparse import csr_array

from ldpsim.curator import options as o
from ldpsim.curator.linear.propagation import adjacency_matrix
from ldpsim.curator.methods.base import (
    Budget,
    Graph,
    LocalMethod,
    MethodSpec,
    Question,
    option_in_errors,
)
from ldpsim.curator.methods.local import blink, ldpgen
from ldpsim.curator.methods.local.feature_questions import ask_features, split_budget
from ldpsim.curator.methods.local.graphs import both_ways, labelled_graph
from ldpsim.curator.methods.local.hogs import HOPS, SCALING, HoGS, link_weights, mean_with_self, reconstruct_features
from ldpsim.curator.methods.local.label_questions import StageMechanisms, with_labels
from ldpsim.curator.methods.local.links import ReconstructedLinks
from ldpsim.curator.methods.parameters import SHARE, parameter
from ldpsim.curator.privacy.guarantee import Claim
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rounds import RoundSteps
from ldpsim.curator.shown import shown_loss
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.query import Ask


class FeaturePerturbation(LocalMethod):
    """A link method with private features; ``links_of`` names it."""

    links_of: ClassVar[str]
    edge_loss: ClassVar[str]  # reason why the loss of an edge differs from that of one bit
    spec = MethodSpec(
        private=("adjacency", "features"), options=o.SPLIT | o.REPORTS | o.NETWORK | o.LABELS | {"epsilon"},
        finer=("eps_adjacency", "eps_features"), training_defaults=HoGS.spec.training_defaults,
        search_grid=({"l": (0, 1, 2), "lr": (0.01, 0.1)}, HoGS.spec.search_grid[1]),
    )  # fmt: skip

    l: int  # noqa: E741 - the paper's name
    scaling: str

    def budgets(self, budget: Budget) -> tuple[float, ...]:
        """Return the budgets of the links, and that of a feature as the last."""
        raise NotImplementedError

    def stages(self, facts: PublicFacts, budget: Budget) -> StageMechanisms:
        """Return the mechanisms about the links of each stage."""
        raise NotImplementedError

    def links(self, reports: Reports) -> tuple[ReconstructedLinks, csr_array]:
        """Return the links, and the weights of Algorithm 3, float32 CSR (n, n)."""
        raise NotImplementedError

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Ask everybody about the links and, in the first stage, for features; with private labels for these too."""
        if budget.public_features:
            raise ValueError(f"{self.spec.name} protects features: it has no --public-features ({self.links_of} has)")
        *_, eps_a, eps_f = self.budgets(budget)
        with option_in_errors("--eps-adjacency", budget.eps_adjacency, budget, eps_a):
            first, *later = self.stages(facts, budget)
        asks = (Ask("adjacency", first), ask_features(facts, budget, eps_f))
        return with_labels(asks, facts, split, budget, collection, self.spec.name, later=tuple(later))

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Return the links, with features by Algorithm 3 of HoGS."""
        (edges, weights, notes), eq_10 = self.links(reports)
        features = reconstruct_features(reports, eq_10, self.l, self.scaling, notes)
        return labelled_graph(features, edges, weights, notes, reports, public)

    def claim(self, budget: Budget) -> Claim:
        """Return the sum of the budgets, as HoGS compares them."""
        total = sum(self.budgets(budget))
        return Claim(
            f"epsilon-LDP of links and features, epsilon = {shown_loss(total)} (as in HoGS, Theorem 4)", total,
            (self.edge_loss, "eps_f is the loss of one feature; a vector of d of them loses d eps_f"),
        )  # fmt: skip


@dataclass(frozen=True)
class FPBlink(FeaturePerturbation):
    """Blink with private features.

    Args:
        delta1: Share of epsilon for the links, in (0, 1).
        delta2: Share of that for the adjacency bits, the rest for the degree; in (0, 1).
        variant, floor: As in :class:`ldpsim.curator.methods.local.blink.Blink`.
        l: Number of feature reconstructions; 0 for none.
        scaling: Scaling of reconstructed features, as in :class:`ldpsim.curator.methods.local.hogs.HoGS`.

    Raises:
        ValueError: for a parameter outside its range.
    """

    delta1: float = parameter(0.75, SHARE)
    delta2: float = parameter(0.75, SHARE)
    variant: str = parameter("hard", blink.VARIANT)
    floor: float = parameter(0.02, blink.FLOOR, variant=("soft",))
    l: int = parameter(2, HOPS)  # noqa: E741 - the paper's name
    scaling: str = parameter("standardised", SCALING)

    spec = replace(
        FeaturePerturbation.spec, name="fp-blink", memory="edges",
        paper="Xu et al., HoGS (its baseline: Blink with feature perturbation)",
        mechanisms=("randomized_response", "degree", "one_bit", "grr"),
    )  # fmt: skip
    links_of: ClassVar[str] = "blink"
    edge_loss: ClassVar[str] = blink.BIT_AND_DEGREE

    def budgets(self, budget: Budget) -> tuple[float, ...]:
        """Return (eps_d, eps_a, eps_f); ``eps_adjacency`` is eps_d + eps_a, divided by delta2."""
        links = budget.eps_adjacency or self.delta1 * budget.epsilon
        features = budget.eps_features or (1 - self.delta1) * budget.epsilon
        return (1 - self.delta2) * links, self.delta2 * links, features

    def stages(self, facts: PublicFacts, budget: Budget) -> StageMechanisms:
        """Return one stage: the row by randomised response, and the degree."""
        eps_d, eps_a, _ = self.budgets(budget)
        return (blink.row_and_degree(facts, budget, eps_a, eps_d, self.spec.name),)

    def links(self, reports: Reports) -> tuple[ReconstructedLinks, csr_array]:
        """Return Blink's edges, and the weights P_ij."""
        posterior, notes = blink.link_posterior(reports)
        potential = posterior.above(1.0)
        pairs, weights = blink.chosen_links(posterior, self.variant, self.floor, notes)
        notes["potential_links"] = len(potential)
        eq_10 = link_weights(potential, reports.facts.n)
        return (both_ways(pairs.left, pairs.right), weights, notes), eq_10


@dataclass(frozen=True)
class FPLDPGen(FeaturePerturbation):
    """LDPGen with private features.

    Args:
        first_share, first_groups, groups, grouping_seed, graph: As in
        :class:`ldpsim.curator.methods.local.ldpgen.LDPGen`.
        l: Number of feature reconstructions; 0 for none.
        scaling: Scaling of reconstructed features, as in :class:`ldpsim.curator.methods.local.hogs.HoGS`.

    Raises:
        ValueError: for a parameter outside its range.
    """

    first_share: float = parameter(0.5, SHARE)
    first_groups: int = parameter(2, ldpgen.GROUPS)
    groups: int = parameter(2, ldpgen.GROUPS)
    grouping_seed: int = parameter(0, ldpgen.SEED)
    graph: str = parameter("sampled", ldpgen.GRAPH)
    l: int = parameter(0, HOPS)  # noqa: E741 - the paper's name
    scaling: str = parameter("standardised", SCALING)

    spec = replace(
        FeaturePerturbation.spec, name="fp-ldpgen", memory="reports",
        options=FeaturePerturbation.spec.options | {"feature_share"},
        paper="Xu et al., HoGS (its baseline: LDPGen with feature perturbation)",
        mechanisms=("group_degrees", "one_bit", "grr"),
    )  # fmt: skip
    links_of: ClassVar[str] = "ldpgen"
    edge_loss: ClassVar[str] = ldpgen.TWO_STAGES

    def budgets(self, budget: Budget) -> tuple[float, ...]:
        """Return (eps_a of both stages, eps_f)."""
        eps_a, eps_f = split_budget(budget)
        assert eps_f is not None
        return eps_a, eps_f

    def stages(self, facts: PublicFacts, budget: Budget) -> StageMechanisms:
        """Return two stages: degrees towards random groups, then towards the new groups."""
        return ldpgen.group_stages(self, facts, budget, self.budgets(budget)[0])

    def rounds(self, public: PublicKnowledge, budget: Budget, planned: Sequence[Question]) -> RoundSteps:
        """Yield stage 0, and stage 1 with the groups that follow from its reports."""
        return ldpgen.grouped_rounds(planned, self.groups)

    def links(self, reports: Reports) -> tuple[ReconstructedLinks, csr_array]:
        """Return LDPGen's graph, and the mean over it."""
        links = ldpgen.generated_links(reports, self.graph)
        edges, weights, _ = links
        return links, mean_with_self(adjacency_matrix(reports.facts.n, edges, weights))
