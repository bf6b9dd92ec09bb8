"""FP-LDPGen: LDPGen's graph with HoGS's features (Xu et al. 2026, Section V-A, https://arxiv.org/abs/2602.08762).

HoGS's shares of the budget: eps_a = (1 - delta) eps for the links, which both stages of LDPGen
(:mod:`curator.methods.local.ldpgen`) spend together, and eps_f = delta eps for each
feature by the 1-bit mechanism, asked with the first stage.

LDPGen's graph has link probabilities of groups, not of pairs. HoGS's potential links are
therefore the drawn ones: X^_i is the mean of the noisy vectors of i and its neighbours in
the drawn graph, repeated l times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from curator.linear.propagation import adjacency_matrix
from curator.methods.base import Budget, Graph, Grid, Method, Question, require_reports, spending
from curator.methods.local.hogs import HoGS, check_reconstruction, mean_with_self, reconstruct_features, split_budget
from curator.methods.local.ldpgen import TWO_STAGES, LDPGen, check_groups, generated_links, group_stages, similar_people
from curator.methods.local.links import labelled_graph, with_labels
from curator.privacy.guarantee import Claim, Guarantee, local_guarantee
from curator.reports.reports import Reports
from devices.array_types import IntArray
from devices.facts import PublicFacts, PublicKnowledge, Split
from devices.mechanisms import OneBit
from devices.query import Ask


@dataclass(frozen=True)
class FPLDPGen(Method):
    """LDPGen with private features.

    Args:
        first_share, first_groups, groups, grouping_seed, graph: As in :class:`curator.methods.local.ldpgen.LDPGen`.
        l: Number of feature reconstructions; 0 for none.
        scaling: Scaling of reconstructed features, as in :class:`curator.methods.local.hogs.HoGS`.

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

    name: ClassVar[str] = "fp-ldpgen"
    paper: ClassVar[str] = "Xu et al., HoGS (its baseline: LDPGen with feature perturbation)"
    trust: ClassVar[str] = "untrusted curator"
    private: ClassVar[tuple[str, ...]] = ("adjacency", "features")
    mechanisms: ClassVar[tuple[str, ...]] = ("group_degrees", "one_bit", "grr")
    training_defaults: ClassVar[Mapping[str, Any]] = HoGS.training_defaults
    search_grid: ClassVar[tuple[Grid, ...]] = ({"l": (0, 1, 2), "lr": (0.01, 0.1)}, HoGS.search_grid[1])
    query_grid: ClassVar[Grid] = {"feature_share": HoGS.query_grid["feature_share"], **LDPGen.query_grid}

    def __post_init__(self) -> None:
        check_groups(self)
        check_reconstruction(self)

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Ask for degrees towards random groups and for features; then for degrees towards the new groups."""
        if budget.public_features:
            raise ValueError("fp-ldpgen protects features: it has no --public-features (ldpgen has)")
        if facts.d < 1:
            raise ValueError("fp-ldpgen asks about features, and these people have none")
        eps_a, eps_f = self.budgets(budget)
        with spending("--eps-adjacency", budget.eps_adjacency, budget, eps_a):
            first, *later = group_stages(self, facts, budget, eps_a)
        with spending("--eps-features", budget.eps_features, budget, eps_f):
            bits = OneBit.from_epsilon(eps_f, d=facts.d, low=facts.feature_low, high=facts.feature_high)
        asks = (Ask("adjacency", first), Ask("features", (bits,)))
        return with_labels(asks, facts, split, budget, collection, self.name, later=tuple(later))

    def budgets(self, budget: Budget) -> tuple[float, float]:
        """Return (eps_a of both stages, eps_f)."""
        eps_a, eps_f = split_budget(budget)
        assert eps_f is not None
        return eps_a, eps_f

    def regroup(self, reports: Reports, *, stage: int) -> IntArray | None:
        """k-means on the vectors of stage 0."""
        return similar_people(reports, self.groups)

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """LDPGen's graph, then Algorithm 3 of HoGS on it."""
        require_reports(reports, self.name)
        if reports.features is None:
            raise ValueError("fp-ldpgen needs feature reports, and these hold none")
        edges, weights, notes = generated_links(reports, self.graph)
        likely = adjacency_matrix(reports.facts.n, edges, weights)
        features = reconstruct_features(reports, mean_with_self(likely), self.l, self.scaling, notes)
        return labelled_graph(features, edges, weights, notes, reports, public)

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return the sum of the budgets, as HoGS compares them, beside what holds."""
        total = sum(self.budgets(budget))
        claim = Claim(f"epsilon-LDP of links and features, epsilon = {total:g} (as in HoGS, Theorem 4)", total)
        reasons = (
            TWO_STAGES,
            "eps_f is the loss of one feature; a vector of d of them loses d eps_f",
        )
        return local_guarantee(facts, questions, claim=claim, why_they_differ=reasons, collections=collections)
