"""Privacy of trainings in rounds under Gaussian noise: a server's models, a device's own updates.

DP-FedAvg's models (:func:`central_epsilon`). A round draws ``sample`` of ``people`` training
devices without replacement, clips their updates to norm C and releases their mean plus
N(0, (z C / sample)^2) on every weight.

What holds: two populations differ in one device's record (*replace one*; who trains is
public). The mean moves by up to 2 C / sample, so the Gaussian's multiplier is z / 2. Where
everybody is asked in every round the composition is one Gaussian of multiplier
z / (2 root(rounds)), and dp-accounting's figure for it is exact (Balle and Wang 2018); where
devices are drawn, dp-accounting's Renyi bound for sampling without replacement (Wang, Balle,
Kasiviswanathan 2019), or the exact one without amplification where that is smaller.

What is usually printed: add or remove a device, Poisson sampling at rate sample / people,
multiplier z, with dp-accounting's privacy loss distributions.

A device's own noisy updates (:func:`updates_epsilon`) are not sampled: everybody knows whose
turn it is. Together they are one Gaussian as well, also where an update depends on the replies
of earlier rounds (Dong, Roth and Su 2022, Corollary 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from ldpsim.devices.mechanisms import gaussian, round_up
from ldpsim.devices.mechanisms.smallest import smallest


@dataclass(frozen=True)
class Rounds:
    """Rounds of a DP-FedAvg training.

    Args:
        rounds: Number of rounds that released a model.
        people: Training devices.
        sample: Number of devices that are drawn in a round.
        delta: Delta of the guarantee.

    Raises:
        ValueError: for impossible numbers.
    """

    rounds: int
    people: int
    sample: int
    delta: float

    def __post_init__(self) -> None:
        if self.rounds < 1 or not 1 <= self.sample <= self.people:
            raise ValueError(f"{self.rounds} rounds of {self.sample} devices out of {self.people}")
        if not 0 < self.delta < 1 / self.people:
            raise ValueError(
                f"--set delta={self.delta:g}: must be above 0 and below 1 / {self.people} training devices"
            )

    @property
    def rate(self) -> float:
        """Share of the devices that a round draws."""
        return self.sample / self.people


MOST_EPSILON = 1000.0  # next to no noise; dp-accounting takes minutes for the printed figure beyond it


@lru_cache(maxsize=512)
def central_epsilon(training: Rounds, multiplier: float) -> float:
    """Epsilon that holds for the models, at the stated delta: replace one device."""
    import dp_accounting as dp
    from dp_accounting import rdp

    epsilon = _together(multiplier / 2, training.rounds, training.delta)
    if training.sample < training.people:
        accountant = rdp.RdpAccountant(neighboring_relation=dp.NeighboringRelation.REPLACE_ONE)
        one = dp.GaussianDpEvent(multiplier / 2)
        accountant.compose(dp.SampledWithoutReplacementDpEvent(training.people, training.sample, one), training.rounds)
        epsilon = min(epsilon, float(accountant.get_epsilon(training.delta)))
    return round_up(epsilon)


@lru_cache(maxsize=512)
def updates_epsilon(answers: int, epsilon: float, delta: float) -> float:
    """Epsilon of a device's ``answers`` updates together, at ``answers * delta``; exact.

    Args:
        answers: Number of updates, 1 or more.
        epsilon, delta: Loss of one update under Gaussian noise.
    """
    multiplier = gaussian.calibrate(epsilon, delta, shift=1.0)
    return round_up(min(_together(multiplier, answers, answers * delta), answers * epsilon))


def _together(multiplier: float, times: int, delta: float) -> float:
    """Epsilon at ``delta`` of Gaussian answers, everybody in each: one Gaussian."""
    import dp_accounting as dp

    return float(dp.get_epsilon_gaussian(multiplier / math.sqrt(times), delta))


@lru_cache(maxsize=512)
def poisson_epsilon(training: Rounds, multiplier: float) -> float:
    """Epsilon as it is usually printed: add or remove a device, Poisson sampling."""
    import dp_accounting as dp
    from dp_accounting import pld

    if training.sample == training.people:
        return round_up(_together(multiplier, training.rounds, training.delta))
    event = dp.PoissonSampledDpEvent(training.rate, dp.GaussianDpEvent(multiplier))
    accountant = pld.PLDAccountant(value_discretization_interval=1e-3)  # coarse, and from above
    accountant.compose(event, training.rounds)
    return round_up(float(accountant.get_epsilon(training.delta)))


@lru_cache(maxsize=128)
def noise_multiplier_for(training: Rounds, epsilon: float) -> float:
    """The smallest noise multiplier (to four digits, upwards) whose models cost at most ``epsilon``.

    Raises:
        ValueError: where no multiplier up to a million does, or for an epsilon above :data:`MOST_EPSILON`.
    """
    if epsilon > MOST_EPSILON:
        raise ValueError(f"--epsilon {epsilon:g}: must be above 0 and at most {MOST_EPSILON:g} for dp-fedavg")
    try:
        multiplier = smallest(
            lambda noise: central_epsilon(training, noise), epsilon, within=1e-5, least=1e-3, most=1e6, costly=True
        )
    except ValueError:
        raise ValueError(f"--epsilon {epsilon:g}: no noise reaches it at delta {training.delta:g}") from None
    unit = 10.0 ** (math.floor(math.log10(multiplier)) - 3)
    steps = math.floor(multiplier * (1 - 1e-5) / unit)
    while central_epsilon(training, steps * unit) > epsilon:
        steps += 1
    return steps * unit
