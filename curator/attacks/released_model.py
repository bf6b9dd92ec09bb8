"""Inference from a released model: a guess at which of two values the training used.

LiRA (Carlini et al. 2022, https://arxiv.org/abs/2112.03570), the likelihood-ratio form of the attack with shadow
models (Shokri et al. 2017, https://arxiv.org/abs/1610.05820). In every shadow run a coin decides for each target
whether its value is the true one (in) or another one (out). The attacker knows everything else. A run's published
model gives one signal a target. The signals of one half of the runs give each target a normal distribution in and out;
the variance is one for all targets, as few runs cannot tell more. The other half is attacked with their ratio.
A model that can be applied in several ways gives as many signals. The attacker chooses one on the first half.

A loss of epsilon for one target makes every single guess right with probability e^eps / (1 + e^eps) at most, however
the guesses of one run depend on one another (Steinke et al. 2023, https://arxiv.org/abs/2305.08846, with delta 0). So
the number of right guesses is at most binomial, and Clopper and Pearson's lower limit of the share that is right is a
lower bound on epsilon. How many guesses to make is decided on the first half of the runs, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.attacks.bounds import clopper_pearson
from ldpsim.curator.attacks.mechanism_audit import AuditRow, Effort
from ldpsim.devices.array_types import BoolArray, DoubleArray

_SHARES = (1.0, 0.5, 0.25, 0.1)  # of the targets, the most certain ones: how many are guessed
_TINY = 1e-12


@dataclass(frozen=True)
class InferenceRow(AuditRow):
    """Row of an attack on released models; ``passed`` is None where nothing bounds the attack.

    Args:
        right: Share of the guesses that are right.
        largest_right: What the guarantee allows, (1 + tanh(epsilon / 2)) / 2; None without one.
        guesses: Number of guesses that the lower bound counts.
    """

    right: float | None = None
    largest_right: float | None = None
    guesses: int = 0


def ratios(signals: DoubleArray, inside: BoolArray, attacked: DoubleArray) -> DoubleArray:
    """float64 (attacked runs, targets): log of the likelihood of in over that of out.

    Args:
        signals: float64 (runs, targets), of the runs that the attacker made.
        inside: bool, same shape: whether the value was in.
        attacked: float64 (runs, targets), of the runs to attack.
    """
    means = [_mean(signals, where) for where in (inside, ~inside)]
    left = np.where(inside, signals - means[0], signals - means[1])
    variance = float(np.mean(left**2)) + _TINY
    return np.asarray((means[0] - means[1]) * (attacked - (means[0] + means[1]) / 2) / variance, np.float64)


def inference_row(
    name: str, level: str, signals: Sequence[DoubleArray], inside: BoolArray, effort: Effort, *,
    claimed: float | None, delta: float = 0.0, detail: str = "",
) -> InferenceRow:  # fmt: skip
    """Attack the second half of the runs with the first half, and compare with the guarantee.

    Args:
        name: The method.
        level: What differs between in and out.
        signals: float64 (runs, targets), of each way to apply the model.
        inside: bool (runs, targets): the coins.
        effort: Confidence; its trials are not used.
        claimed: Loss that the guarantee allows; None if nothing bounds it.
        delta: Its delta. Above 0 no lower bound is compared.
        detail: Words about the run.
    """
    half = len(inside) // 2
    coins, others = inside[:half], [np.arange(half) != run for run in range(half)]
    made = [each[:half] for each in signals]
    first_scores = [  # a run would recognise its own part of the means
        np.concatenate([ratios(each[rest], coins[rest], each[~rest]) for rest in others]) for each in made
    ]
    way, share = best_attack(first_scores, coins, effort.error)
    scores = ratios(made[way], coins, signals[way][half:])
    right, guesses = guesses_of(scores, inside[half:], share)
    bound = epsilon_of_guesses(right, guesses, effort.error)
    judged = claimed is not None and math.isfinite(claimed) and not delta
    return InferenceRow(
        name, level, claimed, None, bound, effort.confidence, scores.size,
        bound <= claimed if judged and claimed is not None else None,
        detail, right / guesses if guesses else None,
        None if claimed is None else (1 + math.tanh(claimed / 2)) / 2, guesses,
    )  # fmt: skip


def _mean(signals: DoubleArray, where: BoolArray) -> NDArray[np.float64]:
    """float64 (targets,): mean over the runs in which a target is so; over all of them if it never is."""
    count = where.sum(axis=0)
    return np.where(count > 0, (signals * where).sum(axis=0) / np.maximum(count, 1), signals.mean(axis=0))


def best_attack(scores: Sequence[DoubleArray], truth: BoolArray, error: float) -> tuple[int, float]:
    """Return the way and the share of the targets to guess that show most on targets whose truth the attacker knows.

    Args:
        scores: float64 (runs, targets), of each way; a positive score is a guess at in.
        truth: bool (runs, targets): whether the value was in.
        error: Error of a bound.
    """
    return max(product(range(len(scores)), _SHARES),
               key=lambda tried: epsilon_of_guesses(*guesses_of(scores[tried[0]], truth, tried[1]), error))  # fmt: skip


def guesses_of(scores: DoubleArray, truth: BoolArray, share: float) -> tuple[int, int]:
    """Return the numbers of right guesses and of all, about the targets of each run that are most certain."""
    right = count = 0
    for ratio, coins in zip(scores, truth, strict=True):
        chosen = np.argsort(-np.abs(ratio), kind="stable")[: max(1, round(share * len(ratio)))]
        chosen = chosen[ratio[chosen] != 0]
        right += int(np.sum((ratio[chosen] > 0) == coins[chosen]))
        count += len(chosen)
    return right, count


def epsilon_of_guesses(right: int, guesses: int, error: float) -> float:
    """Return a lower bound on epsilon from right guesses; wrong with probability at most ``error``."""
    lower = clopper_pearson(right, guesses, error)[0] if guesses else 0.0
    return max(0.0, math.log(lower / (1 - lower))) if lower > 0 else 0.0
