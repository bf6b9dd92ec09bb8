"""Budget of features beside links, and the question for them."""

from __future__ import annotations

from ldpsim.curator.methods.base import (
    Budget,
    option_in_errors,
)
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import OneBit
from ldpsim.devices.query import Ask


def split_budget(budget: Budget) -> tuple[float, float | None]:
    """Return (eps_a, eps_f): per adjacency bit and per feature; eps_f None if features are public or not asked.

    Features that are not asked leave the whole epsilon to the adjacency.
    """
    if budget.public_features or not (budget.eps_features or budget.feature_share):
        return budget.eps_adjacency or budget.epsilon, None
    eps_a = budget.eps_adjacency or (1 - budget.feature_share) * budget.epsilon
    return eps_a, budget.eps_features or budget.feature_share * budget.epsilon


def ask_features(facts: PublicFacts, budget: Budget, eps_f: float) -> Ask:
    """Algorithm 1, line 7: the 1-bit mechanism with eps_f a feature."""
    with option_in_errors("--eps-features", budget.eps_features, budget, eps_f):
        one_bit = OneBit.from_epsilon(eps_f, d=facts.d, low=facts.feature_low, high=facts.feature_high)
    return Ask("features", (one_bit,))
