"""Linkage: rows of two pseudonymised collections that belong to one person.

Two noisy copies of one person's bits agree more often than those of two people. For bits
that are 1 in a share a_k of the people, reported with flip probabilities p and r, the
attacker adds up ln Pr[y, z | same person] - ln Pr[y] Pr[z] over the bits and matches every
row with its likeliest counterpart, or all rows at once (the assignment problem).

A bit carries mutual information I between the two copies; people are matched when d * I
clearly exceeds ln n. Fresh pseudonyms therefore do not reset a budget.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from devices.array_types import BoolArray, FloatArray


def joint_law(share: ArrayLike, first_flip: float, second_flip: float) -> FloatArray:
    """float64 (2, 2, bits): Pr[first report y, second report z] of one person's bit.

    Args:
        share: (bits,), how often the bit is 1 among all people.
        first_flip, second_flip: Flip probabilities of the two collections.
    """
    one = np.atleast_1d(np.asarray(share, np.float64))
    first = np.array([[1 - first_flip, first_flip], [first_flip, 1 - first_flip]])  # [truth, report]
    second = np.array([[1 - second_flip, second_flip], [second_flip, 1 - second_flip]])
    truth = np.stack([1 - one, one])
    return np.einsum("tk,ty,tz->yzk", truth, first, second)


def information(share: ArrayLike, first_flip: float, second_flip: float) -> FloatArray:
    """float64 (bits,): mutual information, in nats, between the two reports of each bit."""
    joint = joint_law(share, first_flip, second_flip)
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    return np.asarray((joint * np.log(joint / product)).sum(axis=(0, 1)))


def scores(
    first: BoolArray, second: BoolArray, *, first_flip: float, second_flip: float, share: ArrayLike
) -> FloatArray:
    """float64 (n, n): log-likelihood ratio that row i of ``first`` and row j of ``second`` are one person.

    Args:
        first, second: bool (n, bits), the two collections.
        first_flip, second_flip, share: As for :func:`joint_law`.
    """
    joint = joint_law(np.broadcast_to(np.asarray(share, np.float64), first.shape[1]), first_flip, second_flip)
    ratio = np.log(joint / (joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)))
    y, z = first.astype(np.float64), second.astype(np.float64)
    # ratio[y, z] is bilinear in the two bits: four products of matrices become one and two sums
    constant = ratio[0, 0].sum()
    rows = y @ (ratio[1, 0] - ratio[0, 0])
    columns = z @ (ratio[0, 1] - ratio[0, 0])
    both = (y * (ratio[1, 1] - ratio[1, 0] - ratio[0, 1] + ratio[0, 0])) @ z.T
    return np.asarray(constant + rows[:, None] + columns[None, :] + both)


def match(likelihood: FloatArray, *, together: bool = False) -> NDArray[np.int64]:
    """int64 (n,): the row of the second collection that each row of the first is matched with.

    Args:
        likelihood: Result of :func:`scores`.
        together: Match all at once, nobody twice; else each row with its likeliest one.
    """
    if together:
        return np.asarray(linear_sum_assignment(likelihood, maximize=True)[1], np.int64)
    return np.asarray(np.argmax(likelihood, axis=1), np.int64)
