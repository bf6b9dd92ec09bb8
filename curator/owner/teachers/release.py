"""Release of an owner: the arg max of a noisy posterior, or of noisy votes.

The noise has scale 1 / lambda in every class. It is drawn anew for each query and each lambda, so
one set of teachers may serve several lambdas; each of these is a release of its own. Only the
label leaves the owner. Its cost: :mod:`ldpsim.curator.owner.privacy.account`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.draws import private_generator
from ldpsim.devices.array_types import IntArray


def noisy_labels(values: NDArray[np.float64], lambda_: float, *, noise_seed: int) -> IntArray:
    """Return int64 (queries,): arg max of values + Lap(1 / lambda), the first of equal ones (line 7).

    Args:
        values: (queries, classes), posteriors or counts of votes; query q uses the noise of number q.
        lambda_: 1 / scale.
        noise_seed: Seed of the noise.

    >>> noisy_labels(np.array([[0.0, 100.0], [100.0, 0.0]]), 1.0, noise_seed=0)
    array([1, 0])
    """
    count, classes = values.shape
    noise = np.array(
        [private_generator(noise_seed, f"noise {lambda_:.17g}", q).laplace(0, 1 / lambda_, classes)
         for q in range(count)]
    )  # fmt: skip
    return np.argmax(values + noise.reshape(count, classes), axis=1)


def log_posteriors(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-softmax scores, to which the paper's published code adds its noise.

    They are unbounded below, so the sensitivity is infinite and **no guarantee** holds at
    any epsilon. Use them for comparison with the paper's figures only.
    """
    return np.log(np.maximum(values, 1e-300))
