"""The bound behind the PATE-G rows of the PrivGnn paper (Papernot et al. 2017, Theorem 2).

One person sits in one teacher's data, so one vote moves: two counts change by 1 each, and
a query under Lap(1 / lambda) loses at most 2 lambda. The moments bound over n queries,

    eps = min_{l=1..8} (n min(2 lambda^2 l (l+1), 2 lambda l) + ln(1 / delta)) / l,

does not depend on the votes. The smaller figures of the paper's tables (all of PATE-M's
that lie below it) do, and a figure that depends on private votes may not be published.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

MOMENTS: Sequence[int] = range(1, 9)


def moments_epsilon(*, lambda_: float, queries: int, delta: float) -> tuple[float, int]:
    """Return (epsilon at ``delta``, the moment that gave it)."""

    def at(moment: int) -> float:
        one = min(2 * lambda_**2 * moment * (moment + 1), 2 * lambda_ * moment)
        return (queries * one + math.log(1 / delta)) / moment

    return min((at(moment), moment) for moment in MOMENTS)
