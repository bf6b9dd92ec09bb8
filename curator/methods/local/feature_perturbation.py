"""FP-Blink and FP-LDPGen: baselines with HoGS's features (Xu et al. 2026, Section V-A, https://arxiv.org/abs/2602.08762).

The links are those of Blink or LDPGen. The features are asked by the 1-bit mechanism and
reconstructed by HoGS's Algorithm 3 on these links.

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

from dataclasses import dataclass, replace
from typing import ClassVar

from scipy.sparse import csr_array

from ldpsim.curator import options as o
from ldpsim.curator.linear.propagation import adjacency_matrix
from ldpsim.curator.methods.base import Budget, Graph, LocalMethod, MethodSpec, Question, require_reports, spending
from ldpsim.curator.methods.local.blink import (
    BIT_AND_DEGREE,
    check_variant,
    chosen_links,
    link_posterior,
    row_and_degree,
)
from ldpsim.curator.methods.local.hogs import (
    HoGS,
    ask_features,
    check_reconstruction,
    link_weights,
    mean_with_self,
    reconstruct_features,
    split_budget,
)
from ldpsim.curator.methods.local.ldpgen import (
    TWO_STAGES,
    LDPGen,
    check_groups,
    generated_links,
    group_stages,
    similar_people,
)
from ldpsim.curator.methods.local.links import (
    ReconstructedLinks,
    StageMechanisms,
    both_ways,
    labelled_graph,
    with_labels,
)
from ldpsim.curator.methods.memory import MemoryLaw
from ldpsim.curator.methods.parameters import check_shares, parameter
from ldpsim.curator.privacy.guarantee import Claim
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.shown import shown_loss
from ldpsim.devices.array_types import IntArray
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
        if facts.d < 1:
            raise ValueError(f"{self.spec.name} asks about features, and these people have none")
        *_, eps_a, eps_f = self.budgets(budget)
        with spending("--eps-adjacency", budget.eps_adjacency, budget, eps_a):
            first, *later = self.stages(facts, budget)
        asks = (Ask("adjacency", first), ask_features(facts, budget, eps_f))
        return with_labels(asks, facts, split, budget, collection, self.spec.name, later=tuple(later))

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Return the links, with features by Algorithm 3 of HoGS."""
        require_reports(reports, self.spec.name)
        (edges, weights, notes), eq_10 = self.links(reports)
        features = reconstruct_features(reports, eq_10, self.l, self.scaling, notes)
        return labelled_graph(features, edges, weights, notes, reports, public)

    def claim(self, budget: Budget) -> Claim:
        """Return the sum of the budgets, as HoGS compares them."""
        total = sum(self.budgets(budget))
        return Claim(f"epsilon-LDP of links and features, epsilon = {shown_loss(total)} (as in HoGS, Theorem 4)", total)

    def reasons(self, budget: Budget) -> tuple[str, ...]:
        """As :meth:`LocalMethod.reasons`; a vector loses more than a feature."""
        return (self.edge_loss, "eps_f is the loss of one feature; a vector of d of them loses d eps_f")


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

    delta1: float = 0.75
    delta2: float = 0.75
    variant: str = "hard"
    floor: float = parameter(0.02, variant=("soft",))
    l: int = 2  # noqa: E741 - the paper's name
    scaling: str = "standardised"

    spec = replace(
        FeaturePerturbation.spec, name="fp-blink", memory=MemoryLaw(work=60.0, estimates=True),
        paper="Xu et al., HoGS (its baseline: Blink with feature perturbation)",
        mechanisms=("randomized_response", "degree", "one_bit", "grr"),
        query_grid={"delta1": (0.25, 0.33, 0.5, 0.66, 0.75), "delta2": (0.25, 0.33, 0.5, 0.66, 0.75)},
    )  # fmt: skip
    links_of: ClassVar[str] = "blink"
    edge_loss: ClassVar[str] = BIT_AND_DEGREE

    def __post_init__(self) -> None:
        check_variant(self)
        check_reconstruction(self)
        check_shares(self, "delta1", "delta2")

    def budgets(self, budget: Budget) -> tuple[float, ...]:
        """Return (eps_d, eps_a, eps_f); ``eps_adjacency`` is eps_d + eps_a, divided by delta2."""
        links = budget.eps_adjacency or self.delta1 * budget.epsilon
        features = budget.eps_features or (1 - self.delta1) * budget.epsilon
        return (1 - self.delta2) * links, self.delta2 * links, features

    def stages(self, facts: PublicFacts, budget: Budget) -> StageMechanisms:
        """Return one stage: the row by randomised response, and the degree."""
        eps_d, eps_a, _ = self.budgets(budget)
        return (row_and_degree(facts, budget, eps_a, eps_d, self.spec.name),)

    def links(self, reports: Reports) -> tuple[ReconstructedLinks, csr_array]:
        """Return Blink's edges, and the weights P_ij."""
        posterior, notes = link_posterior(reports)
        potential = posterior.above(1.0)
        pairs, weights = chosen_links(posterior, self.variant, self.floor, notes)
        notes["potential_links"] = len(potential)
        eq_10 = link_weights(potential.left, potential.right, potential.probability, reports.facts.n)
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

    first_share: float = 0.5
    first_groups: int = 2
    groups: int = 2
    grouping_seed: int = 0
    graph: str = "sampled"
    l: int = 0  # noqa: E741 - the paper's name
    scaling: str = "standardised"

    spec = replace(
        FeaturePerturbation.spec, name="fp-ldpgen", memory=MemoryLaw(estimates=True),
        options=FeaturePerturbation.spec.options | {"feature_share"},
        paper="Xu et al., HoGS (its baseline: LDPGen with feature perturbation)",
        mechanisms=("group_degrees", "one_bit", "grr"),
        query_grid={"feature_share": HoGS.spec.query_grid["feature_share"], **LDPGen.spec.query_grid},
    )  # fmt: skip
    links_of: ClassVar[str] = "ldpgen"
    edge_loss: ClassVar[str] = TWO_STAGES

    def __post_init__(self) -> None:
        check_groups(self)
        check_reconstruction(self)

    def budgets(self, budget: Budget) -> tuple[float, ...]:
        """Return (eps_a of both stages, eps_f)."""
        eps_a, eps_f = split_budget(budget)
        assert eps_f is not None
        return eps_a, eps_f

    def stages(self, facts: PublicFacts, budget: Budget) -> StageMechanisms:
        """Return two stages: degrees towards random groups, then towards the new groups."""
        return group_stages(self, facts, budget, self.budgets(budget)[0])

    def regroup(self, reports: Reports, stage: int) -> IntArray:
        """k-means on the vectors of stage 0."""
        return similar_people(reports, self.groups)

    def links(self, reports: Reports) -> tuple[ReconstructedLinks, csr_array]:
        """Return LDPGen's graph, and the mean over it."""
        found = generated_links(reports, self.graph)
        edges, weights, _ = found
        return found, mean_with_self(adjacency_matrix(reports.facts.n, edges, weights))
