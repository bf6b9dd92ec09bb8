"""Number of candidates of a vote, by a public rule.

A vote over w values tells the truth with probability e^eps / (e^eps + w - 1). Few values are told truly more
often, and many hold the class of more people. Measured on four graphs at user-level epsilon .5 to 8, with
everybody's w the same: 2 up to an epsilon of 1, 3 up to 3, then 4, and from 6 on all classes.
"""

from __future__ import annotations

import math

_LARGEST_EPSILON = ((1.5, 2), (3.5, 3), (6.0, 4))


def candidates_for(epsilon: float, classes: int) -> int:
    """Return the number of candidates for an epsilon.

    >>> [candidates_for(epsilon, 7) for epsilon in (1, 2, 4, 8)]
    [2, 3, 4, 7]
    """
    most = next((width for largest, width in _LARGEST_EPSILON if epsilon <= largest), math.inf)
    return int(min(most, classes))
