"""A vote between two classes whose answer is more certain the clearer the neighbourhood is.

Device i has two candidates, the two likeliest classes by its own row of the public table. The
difference D of their scores (:mod:`scored_vote`) is cut into levels k = -K .. K, ``step``
units of a logarithm each, and the second candidate is reported with probability

    1 / (1 + e^(epsilon k / K)).

The whole list may move k from -K to K: loss epsilon. One entry moves D by Delta at most,

    Delta = max over classes a, b, k of ln(Om[a, k] / Om[b, k]),

ln(1 + h C / (1 - h)) for a homophily h, so it moves k by few levels: with slope lambda =
epsilon / (K step) an entry loses about lambda Delta, and never more than epsilon. A plain vote
loses epsilon for an entry too. So this is a vote that protects an edge, and a person in others'
lists, better than the person's own list, at the price of a softer answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.data.population import Record
from ldpsim.devices.fixed_point import UNIT_BITS, logarithm
from ldpsim.devices.mechanisms.base import Grouping
from ldpsim.devices.mechanisms.exact_loss import ONE, Loss, log_ratio, probability_threshold
from ldpsim.devices.mechanisms.scored_vote import ScoredVote
from ldpsim.devices.noise import NoiseStream

MOST_LEVELS = 128
_DIGITS = 60
_ROUNDED = 2  # units by which the rounding of two logarithms may move a difference


@dataclass(frozen=True)
class GradedResponse:
    """Report 0 or 1, the more surely the further the level is from 0.

    ``value``: the level, an integer -levels .. levels; ``report``: 0 or 1.

    Args:
        lie: 64-bit threshold of the probability of 1 at the highest level.
        levels: Number of levels K on each side.
        entry_levels: Largest number of levels by which one entry of a list moves the value.
    """

    lie: int
    levels: int
    entry_levels: int

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """64-bit threshold of answer 1 at the levels -K .. K, falling."""
        return _thresholds(self.lie, self.levels)

    def perturb(self, value: int, noise: NoiseStream) -> int:
        """Draw a report about the level."""
        return int(noise.bernoulli(self.thresholds[value + self.levels], 1)[0])

    def log_probability(self, report: int, value: int) -> float:
        """Return ln Pr[report | level]."""
        return math.log(self._chance(value if report else -value))

    def estimate(self, report: int) -> float:
        """Return an unbiased estimate of (2 Pr[1] - 1) / (1 - 2 lie), -1 where the first candidate is certain."""
        return (2 * report - 1) / (1 - 2 * self.lie / ONE)

    def variance(self, value: int) -> float:
        """Return the variance of :meth:`estimate`."""
        chance = self._chance(value)
        return 4 * chance * (1 - chance) / (1 - 2 * self.lie / ONE) ** 2

    def loss(self) -> Loss:
        """Return the loss of an entry of the list, and of the list."""
        chances = self.thresholds
        pairs = zip(chances, chances[self.entry_levels :], strict=False)  # answer 0 mirrors answer 1
        worst = max(Fraction(low, high) for low, high in pairs)
        whole = log_ratio(ONE - self.lie, self.lie)
        return Loss(min(whole, log_ratio(worst.numerator, worst.denominator)), whole)

    def _chance(self, value: int) -> float:
        return self.thresholds[value + self.levels] / ONE


@dataclass(frozen=True, kw_only=True)
class GradedVote(ScoredVote):
    """Report the first or the second candidate: 0 or 1.

    ``value``: the level, an integer -levels .. levels; ``report``: 0 or 1.

    Args:
        lie: 64-bit threshold of the probability of 1 at the highest level.
        levels: Number of levels K on each side, 1 .. 128.
        step: Units of a logarithm (2**-16 nats) from one level to the next, 1 .. 2**32.
        people, classes, table, affinity, own, form, reporting: As in :class:`ScoredVote`.

    Raises:
        ValueError: for anything that is not of this form.

    >>> GradedVote.from_probabilities(np.eye(2), 4.0, slope=0.5, homophily=0.5).loss()
    Loss(bit=0.549010818, vector=4.0, delta=0.0)
    """

    levels: int
    step: int

    name: ClassVar[str] = "graded_vote"
    values: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.lie < ONE // 2:
            raise ValueError(f"the threshold of a lie must lie in 1..2**63-1, not {self.lie}")
        if not 1 <= self.levels <= MOST_LEVELS or not 1 <= self.step <= 1 << 32:
            raise ValueError(f"1..{MOST_LEVELS} levels of 1..2**32 units are needed, not {self.levels} of {self.step}")

    @classmethod
    def from_probabilities(
        cls, probabilities: FloatArray, epsilon: float, *, slope: float, levels: int = 128, **scores: Any
    ) -> GradedVote:
        """Return the vote over these class distributions whose loss of the whole list is at most ``epsilon``.

        Args:
            probabilities: float (n, classes), rows of any scale; a row of zeros is an unknown person.
            epsilon: Loss of the report.
            slope: Log-odds of the answer for each nat of difference, above 0.
            levels: As the mechanism's.
            scores: As :meth:`ScoredVote.published`.

        Raises:
            ValueError: for impossible values.
        """
        if not (math.isfinite(slope) and slope > 0):
            raise ValueError(f"a slope must be a finite number above 0, not {slope}")
        step = max(1, round(epsilon / (levels * slope) * (1 << UNIT_BITS)))
        fields = cls.published(probabilities, **scores)
        return cls(lie=probability_threshold(epsilon), levels=levels, step=step, **fields)

    @classmethod
    def audit_examples(cls) -> list[tuple[Any, Any]]:
        """Return small votes: so steep that one entry decides, gentle, of one end, and over published classes alone."""
        from ldpsim.devices.facts import PublicFacts

        q = np.array([[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 4], [2, 3, 2]])
        votes = [
            cls.from_probabilities(q, 2.0, slope=20.0, homophily=0.286, levels=3),
            cls.from_probabilities(q, 2.0, slope=0.2, homophily=0.7, levels=8, own=False),
            cls.from_probabilities(q, 1.0, slope=0.3, homophily=0.5, reporting="one-end"),
            cls.from_probabilities(q, 4.0, slope=0.5, homophily=0.9, form="likeliest"),
        ]
        return [(vote, PublicFacts(5, 1, 3)) for vote in votes]

    @property
    def judging_steps(self) -> int:
        """A power for each level, and one loss."""
        return 100 * (self.levels + 1)

    @cached_property
    def _response(self) -> GradedResponse:
        logs = logarithm(np.array(self.affinity, np.int64).reshape(self.classes, self.classes))
        most = int((logs.max(axis=0) - logs.min(axis=0)).max()) + _ROUNDED
        return GradedResponse(self.lie, self.levels, min(-(-most // self.step), 2 * self.levels))

    def response(self, values: int) -> GradedResponse:
        """Return the graded response."""
        return self._response

    def value_of(self, record: Record, *, device: int, grouping: Grouping = None) -> int:
        scores, _ = self.scores(record.neighbours, device)
        first, second = self.ranked[device, :2]
        level = (int(scores[first] - scores[second]) + self.step // 2) // self.step
        return min(max(level, -self.levels), self.levels)


@lru_cache(maxsize=8)
def _thresholds(lie: int, levels: int) -> tuple[int, ...]:
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, ROUND_HALF_EVEN
        odds = (Decimal(ONE - lie) / lie).ln()
        upper = [int((ONE / (1 + (odds * k / levels).exp())).to_integral_value()) for k in range(1, levels)] + [lie]
    return (*(ONE - t for t in reversed(upper)), ONE // 2, *upper)
