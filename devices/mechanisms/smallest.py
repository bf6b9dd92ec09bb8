"""Root finder of all accountants: the smallest argument at which a falling function is no more than a target.

It rounds up, as every loss and every noise that is printed does: at the argument that is returned the function was
computed and is at most the target.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable


def smallest(
    falling: Callable[[float], float], target: float, *, start: float = 1.0, within: float = 1e-12,
    least: float = 0.0, most: float = 1e300, from_start: bool = False, costly: bool = False,
) -> float:  # fmt: skip
    """Return the smallest x > 0 with falling(x) <= target, from above within a relative error.

    Args:
        falling: A function that does not rise.
        target: Its largest value that is accepted.
        start: First x that is tried, above 0.
        within: Largest relative error, above 0. One smaller than the spacing of floats ends at neighbours.
        least: No smaller x is looked for; if the function is at most the target there, the result is at most this.
        most: No larger x is tried.
        from_start: Whether ``start`` stays an end of the interval that is halved. The last digits depend on it, and the
            noise of questions is found so.
        costly: Whether to save calls of a continuous function, by interpolation, for a target above 0.

    Raises:
        ValueError: if the function is above the target up to ``most``.

    >>> smallest(lambda x: 1 / x, 4.0)
    0.25
    >>> root = smallest(lambda x: 2 - x * x, 0.0)
    >>> root * root >= 2, round(root, 9)
    (True, 1.414213562)
    """
    low = high = start
    while falling(high) > target:
        low, high = low if from_start else high, 2 * high
        if high > most:
            raise ValueError(f"no argument up to {most:g} reaches {target:g}")
    while low == high or (low > least and falling(low) <= target):
        low, high = low / 2, high if from_start else low
    if low <= least and falling(low) <= target:
        return low
    if costly:
        from scipy.optimize import brentq  # imported where it is needed: the import takes as long as a small run

        def excess(log: float) -> float:
            return math.log(max(falling(math.exp(log)), sys.float_info.min) / target)

        high = math.exp(brentq(excess, math.log(low), math.log(high), xtol=within / 2))
        while falling(high) > target:
            high *= 1 + within / 2
        return high
    while high - low > within * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if falling(middle) > target else (low, middle)
    return high
