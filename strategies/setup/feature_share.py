"""Feature share of a run: given, stored, or chosen from public facts before anybody is asked."""

from __future__ import annotations

from dataclasses import replace

from ldpsim.curator.methods.base import Budget
from ldpsim.curator.methods.feature_share import feature_share
from ldpsim.devices.facts import PublicFacts
from ldpsim.strategies.setup.options import AUTO, RunOptions
from ldpsim.strategies.setup.settings import Settings

CHOSEN = "chosen from public facts"


def divided(
    options: RunOptions, settings: Settings, budget: Budget, facts: PublicFacts, labels: int
) -> tuple[Settings, Budget]:
    """Return the settings with the provenance of the feature share, and the budget with the share in force.

    Where features are optional (:attr:`ldpsim.curator.methods.base.Method.features_optional`), the share is chosen
    unless one is given or stored. Beside a finer budget there is nothing to divide: features without a budget of their
    own are then not asked.

    Args:
        options: Options of the run, which were found to be read.
        settings: The method, and a stored share.
        budget: The budget without a chosen share.
        facts: Sizes of the population.
        labels: Number of training labels.

    Raises:
        ValueError: one line, for a share that does not fit the method or the other budgets.
    """
    method, choice = settings.method, options.feature_share
    parts = {"--eps-adjacency": budget.eps_adjacency, "--eps-features": budget.eps_features}
    finer = [f"{option} {value:g}" for option, value in parts.items() if value is not None]
    if choice == AUTO and finer:
        raise ValueError(f"--feature-share auto with {finer[0]}: nothing is left to divide")
    needed = "features" in method.effective_spec().private and not method.features_optional
    if choice == 0 and needed and not budget.public_features and budget.eps_features is None:
        raise ValueError(f"--feature-share 0: {method.spec.name} cannot do without private features")
    if choice is None and settings.feature_share is not None:
        return settings, replace(budget, feature_share=settings.feature_share)
    if choice not in (None, AUTO) or not method.features_optional or budget.public_features:
        return settings, budget
    share = 0.0 if finer else feature_share(facts, labels, budget.epsilon, budget.reporting)
    settings = replace(settings, provenance={**settings.provenance, "feature_share": CHOSEN})
    return settings, replace(budget, feature_share=share)
