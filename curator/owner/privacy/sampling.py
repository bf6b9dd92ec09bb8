"""One Poisson sample that answers every query, as Algorithm 1 of the PrivGnn paper draws it.

Where the sample is drawn once, the queries compose *without* amplification to
(epsilon_Q, delta / gamma), and the one sample then amplifies the whole (Balle, Barthe and
Gaboardi 2018, Theorem 8):

    epsilon = ln(1 + gamma (e^epsilon_Q - 1)),   delta.

For a base pair that is the same in both directions this is exact: adding a person never
loses more than removing one. For large epsilon_Q the gain is no more than ln(1 / gamma).
"""

from __future__ import annotations

import math
from collections.abc import Callable


def sampled_once(gamma: float, delta: float, unsampled: Callable[[float], float]) -> float:
    """Return the epsilon at ``delta`` of queries that share one sample.

    Args:
        gamma: Probability that a person is in the sample, in (0, 1].
        delta: In (0, 1).
        unsampled: delta -> epsilon of the same queries on all of the data.
    """
    if delta >= gamma:  # the person is in the sample with probability gamma at most
        return 0.0
    return amplified(unsampled(delta / gamma), gamma)


def amplified(epsilon: float, gamma: float) -> float:
    """ln(1 + gamma (e^epsilon - 1)), without overflow; ``epsilon`` may be negative."""
    if abs(epsilon) < 1:
        return math.log1p(gamma * math.expm1(epsilon))
    return epsilon + math.log(gamma + (1.0 - gamma) * math.exp(-epsilon))
