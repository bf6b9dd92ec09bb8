"""Diffusion of predictions over friendships, without a server: p2pGNN's asynchronous exchange.

Krasanakis, Papadopoulos and Kompatsiaris, p2pGNN (IEEE Access 2022, https://doi.org/10.1109/ACCESS.2022.3159688), the
variant with a pretrained predictor. Device u has the class distribution p_u of its own features. With d_u friends, and
for each friend v the last values that it heard of her, an exchange updates two vectors of its own:

    errors       e_u = y_u - p_u where the label is public; else  e_u <- sum over u and friends v of e_v / (d_v + 1)
    predictions  x_u <- (1 - a) (p_u + e_u) + a / root(d_u + 1)  sum over u and friends v of x_v / root(d_v + 1)

a = 0.9. Where every pair exchanges again and again, the values go to those of the same sums on the whole graph: APPNP
with a restart of 1 - a, after labels have corrected their friends (Huang et al., Correct and Smooth).

A pair of friends meets in a round with a chance of its own, drawn once, uniform in [0, ``most``], for each of its two
directions. Those who meet are tried in random order, and a device exchanges with one friend in a round. Both send what
they have, and then both update. A friend who was never heard of counts as zeros. A friendship that one end alone lists
carries nothing.
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
class Diffused:
    """Values of devices after the exchanges.

    Args:
        values: float64 (n, classes): x of each device.
        exchanges: Number of exchanges; each is a message either way.
    """

    values: DoubleArray = field(repr=False)
    exchanges: int


def friend_pairs(everybody: Records) -> IntArray:
    """int64 (2, m): pairs of people who list each other, each once, the smaller number first."""
    everyone = np.ones(len(everybody), np.bool_)
    one, other = mutual_pairs(everybody, np.arange(len(everybody)), everyone)
    return np.stack([one, other])[:, one < other]


def diffused(
    own: DoubleArray, labels: IntArray, pairs: IntArray, *, rounds: int, most: float, restart: float, seed: int
) -> Diffused:
    """Return the values of devices after so many rounds.

    Args:
        own: float64 (n, classes): p of each device.
        labels: int64 (n,): public labels, -1 for people without one.
        pairs: int64 (2, m): :func:`friend_pairs`.
        rounds, most, restart: See above; ``restart`` is 1 - a.
        seed: Seed of the chances and of who meets.
    """
    n, classes = own.shape
    known = labels >= 0
    errors = np.where(known[:, None], np.eye(classes)[np.maximum(labels, 0)] - own, 0.0)
    size = np.bincount(pairs.ravel(), minlength=n)[:, None] + 1.0
    values = own + errors
    # What each end of a pair last sent, and the sums of what each device has heard.
    sent_errors, sent_values = (np.zeros((2, pairs.shape[1], classes)) for _ in range(VALUES))
    heard_errors, heard_values = np.zeros_like(own), np.zeros_like(own)
    random = np.random.Generator(np.random.PCG64(seed))
    # Either direction may fire. Of a pair that meets twice in a round only the first meeting counts.
    rates = most * random.random((2, pairs.shape[1]))
    meeting = 1 - (1 - rates[0]) * (1 - rates[1])
    exchanges = 0
    for _ in range(rounds):
        fired = np.flatnonzero(random.random(len(meeting)) < meeting)
        met = fired[first_come(pairs[:, fired], random.permutation(len(fired)), n)]
        exchanges += len(met)
        told = [(errors[side] / size[side], values[side] / np.sqrt(size[side])) for side in pairs[:, met]]
        for end, hearer in ((0, pairs[1, met]), (1, pairs[0, met])):  # what this end sends goes to the other one
            heard_errors[hearer] += told[end][0] - sent_errors[end, met]
            heard_values[hearer] += told[end][1] - sent_values[end, met]
            sent_errors[end, met], sent_values[end, met] = told[end]
        here = pairs[:, met].ravel()
        passed_on = errors[here] / size[here] + heard_errors[here]
        errors[here] = np.where(known[here, None], errors[here], passed_on)
        smooth = (values[here] / np.sqrt(size[here]) + heard_values[here]) / np.sqrt(size[here])
        values[here] = restart * (own[here] + errors[here]) + (1 - restart) * smooth
    return Diffused(values, exchanges)


def first_come(pairs: IntArray, order: NDArray[np.int64], people: int) -> BoolArray:
    """bool (k,): the pairs that are served if each is, in its order, unless one of its ends was already.

    Args:
        pairs: int64 (2, k).
        order: int64 (k,): the place of each pair, all different.
        people: Number of people.

    >>> first_come(np.array([[0, 1, 2], [1, 2, 3]]), np.array([1, 0, 2]), 4).tolist()
    [False, True, False]
    """
    served, waiting = np.zeros(len(order), np.bool_), np.arange(len(order))
    while len(waiting):
        # A pair that comes before all others of both its ends is served; theirs then wait for nothing.
        first = np.full(people, len(order))
        for side in pairs[:, waiting]:
            np.minimum.at(first, side, order[waiting])
        now = waiting[(first[pairs[:, waiting]] == order[waiting]).all(axis=0)]
        served[now] = True
        busy = np.zeros(people, np.bool_)
        busy[pairs[:, now].ravel()] = True
        waiting = waiting[~busy[pairs[:, waiting]].any(axis=0)]
    return served
