"""Privacy of noisy sums over neighbours, and of trainings on clipped gradients: GAP and ProGAP.

A hop releases A X + N(0, s^2 D^2), where the rows of X have norm 1 at most and D is the sensitivity in the L2 norm:

=====================  =====================================================================================
what changes           how far the sums of all rows move
=====================  =====================================================================================
one arc                1: what the public code counts. No list and no edge is one arc alone
an undirected edge     root 2: the rows of both ends
the same, lists cut    root 6: each end sends to another person in its place, who may be the same for both
a record joins         root D, D the largest number of people that one person sends to. Her own row is not counted
a record replaced      2 root D
=====================  =====================================================================================

K hops are one Gaussian mechanism of shift root(K) D, also where a hop reads the noisy hop before it (Dong, Roth and Su
2022, Corollary 2). Its curve is exact (Balle and Wang 2018). A step of a training draws each person with probability q,
clips the gradients to norm C and adds N(0, s^2 C^2) to their sum: the Poisson-sampled Gaussian mechanism of
multiplier s, under add or remove. Hops and steps are composed by dp-accounting's privacy loss distributions, rounded up
(``tight``), or by the Rényi divergences of the public code (``rdp``): Zhu and Wang's sum at whole orders, a line
between them, and Balle et al.'s conversion at the best real order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from ldpsim.devices.mechanisms import gaussian, round_up
from ldpsim.devices.mechanisms.smallest import smallest

ARC, UNDIRECTED, UNDIRECTED_CUT = 1.0, math.sqrt(2.0), math.sqrt(6.0)
ACCOUNTANTS = ("tight", "rdp")
_LARGEST_ORDER = 1 << 12
_GRID = 1e-2  # of privacy losses; coarse, and from above


@dataclass(frozen=True)
class NoisyTraining:
    """Hops and private steps that share one noise multiplier.

    Args:
        hops: Number of noisy sums, 0 or more.
        steps: Number of private training steps of all trainings together, 0 or more.
        rate: Probability with which a step draws a person, in (0, 1].
        delta: Delta of the guarantee, in (0, 1).
    """

    hops: int
    steps: int
    rate: float
    delta: float

    @property
    def together(self) -> bool:
        """Whether all of it is one Gaussian mechanism, because every step has everybody."""
        return not self.steps or self.rate == 1


def person_loss(training: NoisyTraining, multiplier: float, accountant: str = "tight") -> float:
    """Epsilon at the delta: one record joins or leaves, and each hop moves by its sensitivity; rounded up.

    Args:
        training: The hops and steps.
        multiplier: Noise of a hop divided by its sensitivity, and of a step divided by the clipping norm; 0: infinite.
        accountant: ``tight`` or ``rdp``.
    """
    if not multiplier:
        return math.inf if training.hops + training.steps else 0.0
    if not training.hops + training.steps:
        return 0.0
    return _by_rdp(training, multiplier) if accountant == "rdp" else _by_losses(training, multiplier)


def replaced_loss(training: NoisyTraining, multiplier: float) -> float:
    """Epsilon at the delta where a record is replaced by another one: a bound.

    It is the smaller of two. Group privacy: a record leaves and another joins, so twice epsilon at
    delta / (1 + e^epsilon). Without the draws: everybody in every step, so one Gaussian mechanism of twice the shift.
    """
    if not multiplier or not training.hops + training.steps:
        return person_loss(training, multiplier)
    plain = _gaussian(training.delta, 2 * math.sqrt(training.hops + training.steps), multiplier)
    if training.together:
        return plain
    curve, least = _composed(training, multiplier), _by_losses(training, multiplier)
    tried = least + np.arange(0.0, 30.0, 0.02)
    enough = np.asarray(curve.get_delta_for_epsilon(tried)) * (1 + np.exp(tried)) <= training.delta
    return min(plain, round_up(2 * float(tried[enough.argmax()]))) if enough.any() else plain


def edge_loss(shift: float, *, hops: int, noise: float, delta: float) -> float:
    """Epsilon at the delta where an edge moves each hop by ``shift``, under noise of deviation ``noise``; exact."""
    if not hops:
        return 0.0
    return _gaussian(delta, shift * math.sqrt(hops), noise) if noise else math.inf


@lru_cache(maxsize=128)
def multiplier_for(training: NoisyTraining, epsilon: float, accountant: str = "tight") -> float:
    """Return the smallest noise multiplier, up to one part in 1e6, whose loss is at most epsilon."""
    if not training.hops + training.steps:
        return 0.0
    if accountant == "tight" and training.together:
        multiplier = gaussian.calibrate(epsilon, training.delta, shift=math.sqrt(training.hops + training.steps))
        return multiplier * (1 + 1e-9)  # so that the loss, which is rounded up, is not above epsilon
    return smallest(lambda multiplier: person_loss(training, multiplier, accountant), epsilon, within=1e-6)


def _gaussian(delta: float, shift: float, sigma: float) -> float:
    return round_up(gaussian.epsilon_of(delta, shift=shift, sigma=sigma))


def _by_losses(training: NoisyTraining, multiplier: float) -> float:
    if training.together:
        return _gaussian(training.delta, math.sqrt(training.hops + training.steps), multiplier)
    return round_up(float(_composed(training, multiplier).get_epsilon_for_delta(training.delta)))


@lru_cache(maxsize=64)
def _composed(training: NoisyTraining, multiplier: float):  # type: ignore[no-untyped-def]  # dp-accounting has no types
    """Return the privacy loss distribution of all hops and steps, under add or remove."""
    from dp_accounting.pld import privacy_loss_distribution as losses

    distribution = losses.from_gaussian_mechanism(
        multiplier, value_discretization_interval=_GRID, sampling_prob=training.rate
    ).self_compose(training.steps)
    if training.hops:
        distribution = distribution.compose(
            losses.from_gaussian_mechanism(multiplier / math.sqrt(training.hops), value_discretization_interval=_GRID)
        )
    return distribution


def _by_rdp(training: NoisyTraining, multiplier: float) -> float:
    """Return the smallest epsilon over all real orders above 1, as the public code's accountant has it."""
    from scipy.optimize import minimize_scalar

    moments = _sampled_moments(training.rate, multiplier) if training.steps else None

    def at(log_order: float) -> float:
        order = 1 + math.exp(log_order)
        rho = training.hops * order / (2 * multiplier**2)
        if moments is not None:
            rho += training.steps * moments(order) / (order - 1)
        return float(rho + math.log1p(-1 / order) - math.log(training.delta * order) / (order - 1))

    grid = np.linspace(-6, math.log(_LARGEST_ORDER - 2), 100)
    best = int(np.argmin([at(each) for each in grid]))
    ends = float(grid[max(0, best - 1)]), float(grid[min(len(grid) - 1, best + 1)])
    minimum = minimize_scalar(at, bounds=ends, method="bounded", options={"xatol": 1e-10})
    return max(0.0, float(min(minimum.fun, at(grid[best]))))


def _sampled_moments(rate: float, multiplier: float) -> Callable[[float], float]:
    """Return (order - 1) times the Rényi divergence of one step: exact at whole orders, a line between them above."""
    from scipy.special import gammaln, logsumexp

    @cache
    def whole(order: int) -> float:
        k = np.arange(order + 1)
        ways = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
        drawn = k * math.log(rate) + (order - k) * math.log1p(-rate)
        return float(logsumexp(ways + drawn + k * (k - 1) / (2 * multiplier**2)))

    def moments(order: float) -> float:
        if rate == 1:
            return order * (order - 1) / (2 * multiplier**2)
        below = math.floor(order)
        share = order - below
        return (1 - share) * whole(below) + share * whole(below + 1)

    return moments
