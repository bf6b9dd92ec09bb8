"""What leaves the owner: the arg max of a noisy posterior, or of noisy votes.

Noise has scale 1 / lambda in every class, drawn for each query and each lambda on its own,
so one set of teachers may serve several lambdas; each of them is a release of its own.
Only the label leaves. What that costs: :mod:`curator.privacy.accountant`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from curator.teachers.randomness import private_generator
from devices.array_types import IntArray

SCORES = ("posterior", "log-posterior")


def noisy_labels(
    values: NDArray[np.float64], lambda_: float, *, noise_seed: int, numbers: IntArray | None = None
) -> IntArray:
    """Return int64 (queries,): arg max of values + Lap(1 / lambda), of equals the first (line 7).

    Args:
        values: (queries, classes), posteriors or counts of votes.
        lambda_: 1 / scale.
        noise_seed: Seed of the noise.
        numbers: The queries' numbers, None for 0, 1, 2, ...
    """
    count, classes = values.shape
    who = np.arange(count) if numbers is None else numbers
    noise = np.array(
        [private_generator(noise_seed, f"noise {lambda_:.17g}", int(q)).laplace(0, 1 / lambda_, classes) for q in who]
    )
    return np.argmax(values + noise.reshape(count, classes), axis=1)


def log_posteriors(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-softmax scores: what the paper's published code adds its noise to.

    They are unbounded below, so the sensitivity is infinite and **no guarantee** holds at
    any epsilon. For comparison with the paper's figures only.
    """
    return np.log(np.maximum(values, 1e-300))
