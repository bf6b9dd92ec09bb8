"""Blink: link local privacy by Bayesian estimation (Zhu et al., CCS 2023).

On the devices: randomised response on the adjacency row with eps_a = (1 - share) eps per
bit, and the degree with Laplace noise (discrete: it is an integer) for eps_d = share eps.

At the curator: degrees are clipped to [1, n - 2] and give the beta-model
(:mod:`curator.links.beta_model`), whose link probabilities are the prior; both reported bits are
the likelihood; P_ij is the posterior (:mod:`curator.links.blink`). Then

    hard    the pairs with P_ij > .5, unweighted;
    soft    all pairs, weighted by P_ij;
    hybrid  the floor(sum P) likeliest pairs, weighted by P_ij.

Two deviations. ``soft`` keeps the pairs with P_ij >= ``floor``, because the whole matrix
is dense; ``floor=0`` is the paper's form, and the notes say which share of the total
probability was kept. A silent device is taken to have the others' mean degree.

One edge changes a bit and the degree at each end: its loss is 2 (eps_a + eps_d).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from curator.links.beta_model import fit_beta_model
from curator.links.blink import LinkPosterior, PairOdds
from curator.methods.base import Budget, Grid
from curator.methods.local.links import LinkMethod, ReconstructedLinks, both_ways
from curator.reports.reports import Reports
from devices.facts import PublicFacts
from devices.mechanisms import Degree, Mechanism, RandomizedResponse

VARIANTS = ("hard", "soft", "hybrid")


@dataclass(frozen=True)
class Blink(LinkMethod):
    """Blink and its variants.

    Args:
        variant: ``hard``, ``soft`` or ``hybrid``.
        degree_share: Share of epsilon for the degree (the paper's delta), in (0, 1).
        floor: Smallest P of a weighted edge of ``soft``, in [0, 1).

    Raises:
        ValueError: for a parameter outside its range.
    """

    variant: str = "hard"
    degree_share: float = 0.1
    floor: float = 0.02

    name: ClassVar[str] = "blink"
    paper: ClassVar[str] = "Zhu et al., Blink: Link Local Differential Privacy in GNNs via Bayesian Estimation"
    mechanisms: ClassVar[tuple[str, ...]] = ("randomized_response", "degree", "grr")
    query_grid: ClassVar[Grid] = {"degree_share": (0.1, 0.3, 0.5, 0.7, 0.9)}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_variant(self.variant, self.floor)
        if not 0 < self.degree_share < 1:
            raise ValueError(f"--set degree_share={self.degree_share}: must lie between 0 and 1, both excluded")

    def adjacency(self, facts: PublicFacts, budget: Budget, epsilon: float) -> tuple[Mechanism, ...]:
        """Randomised response for eps_a and a noisy degree for eps_d."""
        share = self.degree_share
        return row_and_degree(facts, budget, (1 - share) * epsilon, share * epsilon, self.name)

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Prior, posterior, and the pairs that the variant takes."""
        posterior, notes = link_posterior(reports)
        pairs, weights = chosen_links(posterior, self.variant, self.floor, notes)
        return both_ways(pairs.left, pairs.right), weights, notes

    def reasons(self, budget: Budget) -> tuple[str, ...]:
        """One edge moves a bit and the degree at both ends."""
        return ("an undirected edge is a bit of both ends' lists and 1 in both ends' degrees: its loss is "
                "2 (eps_a + eps_d)",)  # fmt: skip


def check_variant(variant: str, floor: float) -> None:
    """Refuse an unknown variant or a floor outside [0, 1) (ValueError)."""
    if variant not in VARIANTS:
        raise ValueError(f"--set variant={variant}: must be one of {', '.join(VARIANTS)}")
    if not 0 <= floor < 1:
        raise ValueError(f"--set floor={floor}: must lie in [0, 1)")


def row_and_degree(
    facts: PublicFacts, budget: Budget, eps_a: float, eps_d: float, method: str
) -> tuple[Mechanism, ...]:
    """Return the two mechanisms of one question about the adjacency.

    Raises:
        ValueError: for one-end reporting, which has no degrees to fit, or fewer than 4 people.
    """
    if budget.reporting == "one-end":
        raise ValueError(f"{method} fits whole degrees, which --reporting one-end does not report")
    if facts.n < 4:
        raise ValueError(f"{method} needs at least 4 people to fit degrees, not {facts.n}")
    return (RandomizedResponse.from_epsilon(eps_a, n=facts.n), Degree.from_epsilon(eps_d, n=facts.n))


def link_posterior(reports: Reports) -> tuple[LinkPosterior, dict[str, Any]]:
    """Return the posterior of all pairs, and notes on the prior."""
    if reports.adjacency is None or reports.degrees is None:
        raise ValueError("blink needs reports of adjacency bits and of degrees, and one of them is missing")
    reported = reports.reported("adjacency")
    prior = fit_beta_model(usable_degrees(reports.degrees, reported))
    flip = reports.mechanism("adjacency", RandomizedResponse)
    posterior = LinkPosterior(prior.strength, reports.adjacency, reported, flip.flip_odds)
    expected = posterior.expected_edges()
    return posterior, {"expected_edges": expected, "beta_steps": prior.steps, "beta_converged": prior.converged}


def usable_degrees(degrees: NDArray[np.int64], reported: NDArray[np.bool_]) -> NDArray[np.int64]:
    """int64 (n,): noisy degrees clipped to [1, n - 2]; a silent device has the others' mean."""
    clipped = np.clip(degrees, 1, len(degrees) - 2)
    if not reported.all():
        clipped[~reported] = round(float(clipped[reported].mean())) if reported.any() else 1
    return clipped


def chosen_links(
    posterior: LinkPosterior, variant: str, floor: float, notes: dict[str, Any]
) -> tuple[PairOdds, NDArray[np.float32] | None]:
    """Return the variant's pairs and, for both directions, their weights (None: unweighted)."""
    expected = notes["expected_edges"]
    if variant == "hard":
        pairs = posterior.above(1.0)
        pairs = pairs[pairs.odds > 1]
        weights = None
    else:
        if variant == "soft":
            pairs = posterior.above(floor / (1 - floor))
        else:
            pairs = posterior.most_likely(math.floor(expected))
        weights = np.tile(pairs.probability.astype(np.float32), 2)
    kept = float(pairs.probability.sum())
    notes.update(edges=len(pairs), kept_share=kept / expected if expected > 0 else 1.0)
    return pairs, weights
