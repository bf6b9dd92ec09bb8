"""Diffusion of predictions over friendships, without a server: p2pGNN's asynchronous exchange.

Krasanakis, Papadopoulos and Kompatsiaris, p2pGNN (IEEE Access 2022, https://doi.org/10.1109/ACCESS.2022.3159688), the
variant with a pretrained predictor. Device u has the class distribution p_u by its own features. It has d_u friends,
and of each friend v the last values that it received. An exchange updates two vectors of the device:

    errors       e_u = y_u - p_u where the label is public; else  e_u <- sum over u and friends v of e_v / (d_v + 1)
    predictions  x_u <- (1 - a) (p_u + e_u) + a / root(d_u + 1)  sum over u and friends v of x_v / root(d_v + 1)

a = 0.9. Where every pair exchanges in many rounds, the values converge to those of the same sums on the whole graph:
APPNP with a restart of 1 - a, after the errors of labelled people were spread (Huang et al., Correct and Smooth).

Each direction of a pair of friends has a rate, drawn once, uniform in [0, ``most_rate``]: in each round either may ask
for an exchange, with this chance. These pairs are tried in random order, and a device exchanges with one friend in a
round. Both send their vectors, and then both update. A friend from whom nothing came counts as zeros. A friendship that
one end alone lists carries nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import BoolArray, DoubleArray, IntArray
from ldpsim.devices.data.records import Records
from ldpsim.devices.friends.told_guesses import mutual_pairs

VALUES = 2  # vectors in a message: errors and predictions


@dataclass(frozen=True, eq=False)
class DiffusionResult:
    """Values of devices after the exchanges.

    Args:
        values: float64 (n, classes): x of each device.
        exchanges: Number of exchanges; each is a message either way.
    """

    values: DoubleArray = field(repr=False)
    exchanges: int


def friend_pairs(everybody: Records) -> IntArray:
    """int64 (2, m): pairs of people who list each other, each once, the smaller number first."""
    n = len(everybody)
    person, friend = mutual_pairs(everybody, np.arange(n), np.ones(n, np.bool_))
    return np.stack([person, friend])[:, person < friend]


def diffuse(
    predictions: DoubleArray, labels: IntArray, pairs: IntArray, *, rounds: int, most_rate: float, restart: float,
    seed: int,
) -> DiffusionResult:  # fmt: skip
    """Return the values of devices after so many rounds.

    Args:
        predictions: float64 (n, classes): p of each device.
        labels: int64 (n,): public labels, -1 for people without one.
        pairs: int64 (2, m): :func:`friend_pairs`.
        rounds, most_rate, restart: See above; ``restart`` is 1 - a.
        seed: Seed of the rates and of the exchanges.
    """
    n, classes = predictions.shape
    has_label = labels >= 0
    errors = np.where(has_label[:, None], np.eye(classes)[np.maximum(labels, 0)] - predictions, 0.0)
    size = np.bincount(pairs.ravel(), minlength=n)[:, None] + 1.0  # d + 1
    values = predictions + errors
    # Last message of each end of a pair, and the sum of the last messages to each device.
    last_errors, last_values = (np.zeros((2, pairs.shape[1], classes)) for _ in range(VALUES))
    error_sums, value_sums = np.zeros_like(predictions), np.zeros_like(predictions)
    random = np.random.Generator(np.random.PCG64(seed))
    rates = most_rate * random.random((2, pairs.shape[1]))
    pair_rates = 1 - (1 - rates[0]) * (1 - rates[1])  # two requests of a pair in a round are one exchange
    exchanges = 0
    for _ in range(rounds):
        requests = np.flatnonzero(random.random(len(pair_rates)) < pair_rates)
        exchanging = requests[greedy_matching(pairs[:, requests], random.permutation(len(requests)), n)]
        exchanges += len(exchanging)
        senders = pairs[:, exchanging]
        messages = [(errors[sender] / size[sender], values[sender] / np.sqrt(size[sender])) for sender in senders]
        for end, recipient in ((0, senders[1]), (1, senders[0])):
            error_sums[recipient] += messages[end][0] - last_errors[end, exchanging]
            value_sums[recipient] += messages[end][1] - last_values[end, exchanging]
            last_errors[end, exchanging], last_values[end, exchanging] = messages[end]
        device = senders.ravel()
        smoothed_error = errors[device] / size[device] + error_sums[device]
        errors[device] = np.where(has_label[device, None], errors[device], smoothed_error)
        smoothed_value = (values[device] / np.sqrt(size[device]) + value_sums[device]) / np.sqrt(size[device])
        values[device] = restart * (predictions[device] + errors[device]) + (1 - restart) * smoothed_value
    return DiffusionResult(values, exchanges)


def greedy_matching(pairs: IntArray, order: NDArray[np.int64], people: int) -> BoolArray:
    """bool (k,): the pairs that are taken one after the other, unless an earlier pair has one of the two people.

    Args:
        pairs: int64 (2, k).
        order: int64 (k,): the place of each pair, all different.
        people: Number of people.

    >>> greedy_matching(np.array([[0, 1, 2], [1, 2, 3]]), np.array([1, 0, 2]), 4).tolist()
    [False, True, False]
    """
    matched, remaining = np.zeros(len(order), np.bool_), np.arange(len(order))
    while len(remaining):
        # A pair that comes before all others of both its people is taken; the others of these people are left out.
        first = np.full(people, len(order))
        for side in pairs[:, remaining]:
            np.minimum.at(first, side, order[remaining])
        taken = remaining[(first[pairs[:, remaining]] == order[remaining]).all(axis=0)]
        matched[taken] = True
        busy = np.zeros(people, np.bool_)
        busy[pairs[:, taken].ravel()] = True
        remaining = remaining[~busy[pairs[:, remaining]].any(axis=0)]
    return matched
