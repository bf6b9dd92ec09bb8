"""Epsilon of a sum whose noise comes in shares, by the number of honest contributors.

Each share of the noise is sized for a least number h of people who contribute and do not collude. Fewer of them leave
less noise in the sum, so its epsilon is larger. A result has epsilon at h, and with 10, 30 and 50 % fewer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ldpsim.curator.shown import shown_loss

_FEWER = (0.1, 0.3, 0.5)  # shares of the h people who drop out, or collude
# The sentence at a level; its figures are :attr:`HonestContributors.figures`.
REASON = (
    "to the curator, who sees the sum alone, if {honest} or more people contribute and do not collude; with "
    "10, 30 and 50 % fewer: {fewer_10}, {fewer_30} and {fewer_50}; the party that adds sees every contribution "
)


@dataclass(frozen=True)
class HonestContributors:
    """Epsilon by the number of honest contributors.

    Args:
        honest: h, the number for which the noise is sized.
        at: Epsilon by the share of h who are missing: none, 10, 30 and 50 %.

    >>> found = HonestContributors.of(10, lambda number: 10 / number)
    >>> found.epsilon, found.at[0.5]
    (1.0, 2.0)
    """

    honest: int
    at: Mapping[float, float] = field(repr=False)

    @staticmethod
    def of(honest: int, epsilon: Callable[[int], float]) -> HonestContributors:
        """Return the figures of a sum; ``epsilon`` gives it for a number of honest contributors, 1 or more."""
        numbers = {less: max(1, math.floor(honest * (1 - less) + 1e-9)) for less in (0.0, *_FEWER)}
        return HonestContributors(honest, {less: epsilon(number) for less, number in numbers.items()})

    @property
    def epsilon(self) -> float:
        """Epsilon at h."""
        return self.at[0.0]

    @property
    def figures(self) -> dict[str, float]:
        """Figures for :data:`REASON`."""
        return {"honest": self.honest, **{f"fewer_{100 * less:.0f}": self.at[less] for less in _FEWER}}

    @property
    def sentence(self) -> str:
        """The same in one sentence."""
        fewer = ", ".join(shown_loss(self.at[less]) for less in _FEWER)
        return f"epsilon is that of {self.honest:,} honest contributors; with 10, 30 and 50 % fewer it is {fewer}"
