"""Privacy curve of additive noise, Gaussian or Laplace: from sensitivity, scale and number of rounds.

A round releases a value under noise. Two neighbouring inputs move the value by the sensitivity D at most; it may depend
on earlier rounds.

- Gaussian noise of deviation sigma, D in the L2 norm: T rounds are one Gaussian mechanism of shift root(T) D (Dong,
  Roth and Su 2022, Corollary 2), whose curve is exact (Balle and Wang 2018, Theorem 8).
- Laplace noise of scale b on each coordinate, D in the L1 norm, a = D / b. One round has
  delta(eps) = 1 - e^((eps - a) / 2) for eps <= a, so epsilon(delta) = a + 2 ln(1 - delta): exact. More rounds are
  composed on a grid of losses, which rounds up (:func:`~ldpsim.curator.owner.privacy.vector.laplace_epsilon`): a
  bound. At delta 0 it is T a, exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ldpsim.curator.owner.privacy.vector import laplace_epsilon
from ldpsim.devices.mechanisms import gaussian, round_up

GAUSSIAN, LAPLACE = "gaussian", "laplace"
MOST_ROUNDS = 1_000_000
_LEAST_DELTA = {GAUSSIAN: 1e-100, LAPLACE: 1e-9}  # of the bisection; of the grid


@dataclass(frozen=True, kw_only=True)
class AdditiveNoise:
    """Gaussian or Laplace noise on a value of known sensitivity, in a number of rounds.

    Args:
        distribution: ``gaussian`` or ``laplace``.
        scale: Deviation sigma of Gaussian noise, b of Laplace noise.
        sensitivity: D, L2 for Gaussian and L1 for Laplace noise.
        rounds: T.

    Raises:
        ValueError: for another distribution, or numbers outside their range.

    >>> AdditiveNoise(distribution="laplace", scale=2.0, sensitivity=1.0, rounds=3).epsilon(0.0)
    1.5
    """

    distribution: str
    scale: float
    sensitivity: float = 1.0
    rounds: int = 1

    def __post_init__(self) -> None:
        if self.distribution not in _LEAST_DELTA:
            raise ValueError(f"{self.distribution}: the noise is {GAUSSIAN} or {LAPLACE}")
        for option, value in ((f"--{self.distribution}", self.scale), ("--sensitivity", self.sensitivity)):
            if not 1e-6 <= value <= 1e6:
                raise ValueError(f"{option} {value:g}: must lie between 1e-6 and 1e6")
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise ValueError(f"--rounds {self.rounds}: must lie between 1 and {MOST_ROUNDS:,}")

    def is_exact(self, delta: float) -> bool:
        """Whether :meth:`epsilon` is the exact one at this delta, and not a bound from above."""
        return self.distribution == GAUSSIAN or self.rounds == 1 or delta == 0

    def epsilon(self, delta: float) -> float:
        """Return the epsilon that holds at this delta, rounded up.

        Raises:
            ValueError: for a delta at which no epsilon holds, or that the grid does not resolve.
        """
        least_delta = _LEAST_DELTA[self.distribution]
        if not (least_delta <= delta < 1 or delta == 0 and self.distribution == LAPLACE):
            zero = "be 0 or " if self.distribution == LAPLACE else ""
            raise ValueError(
                f"--delta {delta:g}: must {zero}lie between {least_delta:g} and 1 for {self.distribution} noise"
            )
        if self.distribution == GAUSSIAN:
            return gaussian.printed_epsilon(delta, shift=self.sensitivity * math.sqrt(self.rounds), sigma=self.scale)
        loss = self.sensitivity / self.scale
        if self.rounds == 1 or delta == 0:
            return round_up(max(0.0, self.rounds * loss + 2 * math.log1p(-delta)))
        return round_up(laplace_epsilon(loss=loss, queries=self.rounds, delta=delta))
