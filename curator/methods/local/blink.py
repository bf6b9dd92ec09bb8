"""Blink: link local differential privacy by Bayesian estimation (Zhu, Tan and Xiao, CCS 2023, https://arxiv.org/abs/2309.03190).

On the devices, with eps_d = delta eps and eps_a = (1 - delta) eps:

    A~_ij = RR(A_ij, eps_a),   flip probability p = 1 / (1 + e^eps_a)
    d~_i = d_i + Lap(1 / eps_d), here with discrete Laplace noise, as a degree is an integer

At the curator, in this order:

    beta     maximum-likelihood beta-model of the d~_i clipped to [1, n - 2]
             (:mod:`ldpsim.curator.links.beta_model`)
    prior    Pr[A_ij = 1 | d~] = s_i s_j / (1 + s_i s_j),  s_i = e^beta_i
    P_ij     posterior (n, n) of the prior and both reported bits (:mod:`ldpsim.curator.links.blink`):
             P_ij / (1 - P_ij) = s_i s_j (p / (1 - p))^(zeros - ones),  zeros and ones among A~_ij and A~_ji

    hard     the pairs with P_ij > .5, unweighted
    soft     all pairs, weighted by P_ij
    hybrid   the floor(sum P) likeliest pairs, weighted by P_ij

Deviations: ``soft`` keeps the pairs with P_ij >= ``floor``, as the whole matrix is dense.
``floor=0`` is the paper's form, and the notes hold the kept share of the total probability. The
degree of a silent device is estimated by the mean degree of the others.

One edge changes a bit and the degree at both ends: its loss is 2 (eps_a + eps_d).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.links.beta_model import fit_beta_model
from ldpsim.curator.links.blink import LinkPosterior, PairOdds
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.methods.local.graphs import both_ways
from ldpsim.curator.methods.local.label_questions import StageMechanisms
from ldpsim.curator.methods.local.links import LinkMethod, ReconstructedLinks
from ldpsim.curator.methods.parameters import SHARE, between, one_of, parameter
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rows import noisy_rows_of_bits
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import Degree, Mechanism, RandomizedResponse

VARIANT, FLOOR = one_of("hard", "soft", "hybrid"), between(0, 1)
BIT_AND_DEGREE = "an edge changes a bit and the degree at both ends, so its loss is 2 (eps_a + eps_d)"


@dataclass(frozen=True)
class Blink(LinkMethod):
    """Blink and its variants.

    Args:
        variant: ``hard``, ``soft`` or ``hybrid``.
        degree_share: Share of epsilon for the degree (the paper's delta), in (0, 1).
        floor: Smallest P of a weighted edge of ``soft``, in [0, 1).

    Raises:
        ValueError: for a parameter outside its range.

    >>> Blink(variant="hybrid").degree_share
    0.1
    """

    variant: str = parameter("hard", VARIANT)
    degree_share: float = parameter(0.1, SHARE)
    floor: float = parameter(0.02, FLOOR, variant=("soft",))

    spec = replace(
        LinkMethod.spec, name="blink", memory="edges",
        paper="Zhu et al., Blink: Link Local Differential Privacy in GNNs via Bayesian Estimation",
        mechanisms=("randomized_response", "degree", "grr"),
    )  # fmt: skip

    def stages(self, facts: PublicFacts, budget: Budget, epsilon: float) -> StageMechanisms:
        """A~_i by randomised response with eps_a, and d~_i with eps_d."""
        share = self.degree_share
        return (row_and_degree(facts, budget, (1 - share) * epsilon, share * epsilon, self.spec.name),)

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Prior, posterior, and the pairs of the variant."""
        posterior, notes = link_posterior(reports)
        pairs, weights = chosen_links(posterior, self.variant, self.floor, notes)
        return both_ways(pairs.left, pairs.right), weights, notes

    def edge_loss(self, budget: Budget) -> str:
        """As :meth:`LinkMethod.edge_loss`; one edge changes a bit and the degree at both ends."""
        return BIT_AND_DEGREE


def row_and_degree(
    facts: PublicFacts, budget: Budget, eps_a: float, eps_d: float, method: str
) -> tuple[Mechanism, ...]:
    """Return the mechanisms of A~_i and d~_i.

    Raises:
        ValueError: for one-end reporting, which reports no whole degree, or fewer than 4 people.
    """
    if budget.reporting == "one-end":
        raise ValueError(f"{method} fits whole degrees, which --reporting one-end does not report")
    if facts.n < 4:
        raise ValueError(f"{method} needs at least 4 people to fit degrees, not {facts.n}")
    return (RandomizedResponse.from_epsilon(eps_a, n=facts.n), Degree.from_epsilon(eps_d, n=facts.n))


def link_posterior(reports: Reports) -> tuple[LinkPosterior, dict[str, Any]]:
    """Return P_ij of all pairs, and notes on the prior."""
    bits = noisy_rows_of_bits(reports)
    prior = fit_beta_model(usable_degrees(reports.needed("degrees"), bits.reported))
    posterior = LinkPosterior(prior.strength, bits)
    expected = posterior.expected_edges()
    return posterior, {"expected_edges": expected, "beta_steps": prior.steps, "beta_converged": prior.converged}


def usable_degrees(degrees: NDArray[np.int64], reported: NDArray[np.bool_]) -> NDArray[np.int64]:
    """int64 (n,): d~_i clipped to [1, n - 2]; the others' mean for a silent device."""
    clipped = np.clip(degrees, 1, len(degrees) - 2)
    if not reported.all():
        clipped[~reported] = round(float(clipped[reported].mean())) if reported.any() else 1
    return clipped


def chosen_links(
    posterior: LinkPosterior, variant: str, floor: float, notes: dict[str, Any]
) -> tuple[PairOdds, NDArray[np.float32] | None]:
    """Return the variant's pairs and their weights for both directions (None: unweighted)."""
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
    mass = float(pairs.probability.sum())
    notes.update(edges=len(pairs), kept_share=mass / expected if expected > 0 else 1.0)
    return pairs, weights
