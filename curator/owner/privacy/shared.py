"""Privacy loss of labels that the same teachers give several times, under several lambdas.

The noise of each lambda is drawn on its own, the sample of people is not: the posterior of
a query is answered under all of them. So the labels of one query are one mechanism on one
sample, and only then does sampling amplify. Adding up figures that were amplified one by
one would claim too little: with lambdas l and l the loss of one query is
ln(1 + g (e^(2 x) - 1)), more than 2 ln(1 + g (e^x - 1)).

For a fixed sample the answers of a query are dominated by the product of the pairs of
:mod:`~ldpsim.curator.owner.privacy.label`, one for each lambda; what is left of an outcome is its
loss, a sum of terms eps*, -eps* and 0. Over the queries the losses are composed by
dp-accounting on a grid, rounded up: every figure is an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ldpsim.curator.owner.privacy.label import label_probabilities
from ldpsim.curator.owner.privacy.sampling import amplified, sampled_once

MOST_LAMBDAS = 8  # 3^8 outcomes
_EXCESS = 5e-3  # of the rounding, over all queries, at most; more (to 1 %) where the grid would not fit
_CELLS = 1 << 24


def shared_label_epsilon(
    given: Mapping[float, int], *, classes: int, delta: float, gamma: float, once: bool = False
) -> float:
    """Return an upper bound on the epsilon at ``delta`` of all labels that one set of teachers gave.

    Args:
        given: Lambda -> how many queries were answered under it; the first ones, always in the same order.
        classes: c.
        delta: In (0, 1).
        gamma: Probability that a person is in a query's sample.
        once: One sample for all queries; else a fresh one for each.

    Raises:
        ValueError: for no lambda, or more than :data:`MOST_LAMBDAS`.
    """
    if not 1 <= len(given) <= MOST_LAMBDAS:
        raise ValueError(f"labels under 1 to {MOST_LAMBDAS} lambdas can be accounted for together, not {len(given)}")
    if once:
        return sampled_once(gamma, delta, lambda d: shared_label_epsilon(given, classes=classes, delta=d, gamma=1.0))
    most = max(given.values())
    span = 2 * sum(
        count * math.log(label_probabilities(classes, lambda_)[0] / label_probabilities(classes, lambda_)[1])
        for lambda_, count in given.items()
    )
    width = max(_EXCESS / most, span / _CELLS)
    composed, before = None, 0
    for until in sorted(set(given.values())):
        lambdas = [lambda_ for lambda_, count in given.items() if count >= until]
        part = _one_query(lambdas, classes, gamma, width).self_compose(until - before)
        composed, before = part if composed is None else composed.compose(part), until
    assert composed is not None
    return float(composed.get_epsilon_for_delta(delta))


def _one_query(lambdas: list[float], classes: int, gamma: float, width: float) -> Any:
    """The privacy loss distribution of one query's labels under all of the lambdas."""
    from dp_accounting.pld import privacy_loss_distribution  # takes a second to import

    masses = {0.0: 1.0}  # loss towards the data with the person -> probability without them
    for lambda_ in lambdas:
        a, b = label_probabilities(classes, lambda_)
        loss = math.log(a / b)
        steps = ((loss, b), (-loss, a), (0.0, (classes - 2) * b))
        grown: dict[float, float] = {}
        for before, mass in masses.items():
            for step, probability in steps:
                key = round(before + step, 12)  # sums of the same terms in another order are one outcome
                grown[key] = grown.get(key, 0.0) + mass * probability
        masses = {key: mass for key, mass in grown.items() if mass > 0}
    without = {loss: math.log(mass) for loss, mass in masses.items()}
    within = {loss: logarithm + amplified(loss, gamma) for loss, logarithm in without.items()}
    return privacy_loss_distribution.from_two_probability_mass_functions(
        without, within, pessimistic_estimate=True, value_discretization_interval=width, symmetric=False
    )
