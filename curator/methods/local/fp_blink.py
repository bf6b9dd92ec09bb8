"""FP-Blink: Blink's links with HoGS's features (Xu et al. 2026, Section V-A, https://arxiv.org/abs/2602.08762).

Three budgets from two shares, as HoGS's paper states them:

    eps_d = delta1 (1 - delta2) eps,   eps_a = delta1 delta2 eps,   eps_f = (1 - delta1) eps.

The devices report their degree, their row by randomised response and their features by the
1-bit mechanism. Blink's posterior P (:mod:`curator.methods.local.blink`) gives the edges and the
weights of HoGS's Algorithm 3: X^_i is the mean over {j : P_ij >= .5} and i itself, weighted by
P_ij, repeated l times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from curator.methods.base import Budget, Graph, Grid, Method, Question, check_shares, require_reports, spending
from curator.methods.local.blink import BIT_AND_DEGREE, check_variant, chosen_links, link_posterior, row_and_degree
from curator.methods.local.hogs import HoGS, check_reconstruction, link_weights, reconstruct_features
from curator.methods.local.links import both_ways, labelled_graph, with_labels
from curator.privacy.guarantee import Claim, Guarantee, local_guarantee
from curator.reports.reports import Reports
from devices.facts import PublicFacts, PublicKnowledge, Split
from devices.mechanisms import OneBit
from devices.query import Ask


@dataclass(frozen=True)
class FPBlink(Method):
    """Blink with private features.

    Args:
        delta1: Share of epsilon for the links, in (0, 1).
        delta2: Share of that for the adjacency bits, the rest for the degree; in (0, 1).
        variant, floor: As in :class:`curator.methods.local.blink.Blink`.
        l: Number of feature reconstructions; 0 for none.
        scaling: Scaling of reconstructed features, as in :class:`curator.methods.local.hogs.HoGS`.

    Raises:
        ValueError: for a parameter outside its range.
    """

    delta1: float = 0.75
    delta2: float = 0.75
    variant: str = "hard"
    floor: float = 0.02
    l: int = 2  # noqa: E741 - the paper's name
    scaling: str = "standardised"

    name: ClassVar[str] = "fp-blink"
    paper: ClassVar[str] = "Xu et al., HoGS (its baseline: Blink with feature perturbation)"
    trust: ClassVar[str] = "untrusted curator"
    private: ClassVar[tuple[str, ...]] = ("adjacency", "features")
    mechanisms: ClassVar[tuple[str, ...]] = ("randomized_response", "degree", "one_bit", "grr")
    training_defaults: ClassVar[Mapping[str, Any]] = HoGS.training_defaults
    search_grid: ClassVar[tuple[Grid, ...]] = ({"l": (0, 1, 2), "lr": (0.01, 0.1)}, HoGS.search_grid[1])
    query_grid: ClassVar[Grid] = {"delta1": (0.25, 0.33, 0.5, 0.66, 0.75), "delta2": (0.25, 0.33, 0.5, 0.66, 0.75)}

    def __post_init__(self) -> None:
        check_variant(self)
        check_reconstruction(self)
        check_shares(self, "delta1", "delta2")

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Ask everybody about adjacency and features; ask the labelled nodes for private labels."""
        if budget.public_features:
            raise ValueError("fp-blink protects features: it has no --public-features (blink has)")
        if facts.d < 1:
            raise ValueError("fp-blink asks about features, and these people have none")
        eps_d, eps_a, eps_f = self.budgets(budget)
        with spending("--eps-adjacency", budget.eps_adjacency, budget, eps_a):
            links = row_and_degree(facts, budget, eps_a, eps_d, self.name)
        with spending("--eps-features", budget.eps_features, budget, eps_f):
            bits = OneBit.from_epsilon(eps_f, d=facts.d, low=facts.feature_low, high=facts.feature_high)
        asks = (Ask("adjacency", links), Ask("features", (bits,)))
        return with_labels(asks, facts, split, budget, collection, self.name)

    def budgets(self, budget: Budget) -> tuple[float, float, float]:
        """Return (eps_d, eps_a, eps_f); ``eps_adjacency`` is eps_d + eps_a, divided by delta2."""
        links = budget.eps_adjacency or self.delta1 * budget.epsilon
        features = budget.eps_features or (1 - self.delta1) * budget.epsilon
        return (1 - self.delta2) * links, self.delta2 * links, features

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Blink's edges, then Algorithm 3 of HoGS with Blink's P."""
        require_reports(reports, self.name)
        if reports.features is None:
            raise ValueError("fp-blink needs feature reports, and these hold none")
        posterior, notes = link_posterior(reports)
        potential = posterior.above(1.0)
        pairs, weights = chosen_links(posterior, self.variant, self.floor, notes)
        notes["potential_links"] = len(potential)
        eq_10 = link_weights(potential.left, potential.right, potential.probability, reports.facts.n)
        features = reconstruct_features(reports, eq_10, self.l, self.scaling, notes)
        return labelled_graph(features, both_ways(pairs.left, pairs.right), weights, notes, reports, public)

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return the sum of the three budgets, as HoGS compares them, beside what holds."""
        total = sum(self.budgets(budget))
        claim = Claim(f"epsilon-LDP of links and features, epsilon = {total:g} (as in HoGS, Theorem 4)", total)
        reasons = (
            BIT_AND_DEGREE,
            "eps_f is the loss of one feature; a vector of d of them loses d eps_f",
        )
        return local_guarantee(facts, questions, claim=claim, why_they_differ=reasons, collections=collections)
