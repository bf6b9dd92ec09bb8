"""Pseudonyms are no protection where d * I exceeds ln n.

Linkage: rows of two pseudonymised collections that belong to one person.

Two noisy copies of one person's bits agree more often than those of two people. For bits
that are 1 in a share a_k of the people, reported with flip probabilities p and r, the
attacker adds up ln Pr[y, z | same person] - ln Pr[y] Pr[z] over the bits and matches every
row with its likeliest counterpart, or all rows at once (the assignment problem).

A bit carries mutual information I between the two copies; people are matched when d * I
clearly exceeds ln n. Fresh pseudonyms therefore do not reset a budget.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from ldpsim.devices.array_types import BoolArray, FloatArray


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


def same_person(
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


def matched_rows(likelihood: FloatArray, *, together: bool = False) -> NDArray[np.int64]:
    """int64 (n,): the row of the second collection that each row of the first is matched with.

    Args:
        likelihood: Result of :func:`same_person`.
        together: Match all at once, nobody twice; else each row with its likeliest one.
    """
    if together:
        return np.asarray(linear_sum_assignment(likelihood, maximize=True)[1], np.int64)
    return np.asarray(np.argmax(likelihood, axis=1), np.int64)


def flip(epsilon: float) -> float:
    return 1 / (1 + math.exp(epsilon))


@pytest.mark.parametrize(
    ("share", "epsilon", "bits", "ratio"),
    [(0.5, 1.0, 1433, 4.77), (0.5, 3.0, 53, 2.99), (0.5, 1.0, 53, 0.18), (0.0127, 2.0, 1433, 0.40)],
)
def test_information_beside_theory(share: float, epsilon: float, bits: int, ratio: float) -> None:
    found = float(information(share, flip(epsilon), flip(epsilon))[0])
    assert bits * found / math.log(1000) == pytest.approx(ratio, abs=0.006)
    if (share, epsilon) == (0.5, 1.0):
        assert found == pytest.approx(0.022979, abs=5e-7)


def test_the_law_is_a_law() -> None:
    joint = joint_law(np.array([0.1, 0.7]), 0.2, 0.3)
    assert joint.sum(axis=(0, 1)) == pytest.approx([1, 1])
    assert joint[1].sum(axis=0) == pytest.approx([0.1 * 0.8 + 0.9 * 0.2, 0.7 * 0.8 + 0.3 * 0.2])


@pytest.mark.parametrize(("epsilon", "least", "most"), [(3.0, 0.98, 1.0), (1.0, 0.0, 0.2), (0.01, 0.0, 0.03)])
def test_who_is_matched(epsilon: float, least: float, most: float) -> None:
    """53 balanced bits, 400 people: nearly all at epsilon 3, hardly any at 1, chance at 0.01."""
    rng = np.random.default_rng(1)
    truth = rng.random((400, 53)) < 0.5
    first, second = (truth ^ (rng.random(truth.shape) < flip(epsilon)) for _ in range(2))
    pseudonyms = rng.permutation(400)
    found = same_person(first, second[pseudonyms], first_flip=flip(epsilon), second_flip=flip(epsilon), share=0.5)
    rate = np.mean(pseudonyms[matched_rows(found)] == np.arange(400))
    assert least <= rate <= most
    together = np.mean(pseudonyms[matched_rows(found, together=True)] == np.arange(400))
    assert together >= rate - 0.03


def test_scores_by_the_definition() -> None:
    share, rng = np.array([0.2, 0.6, 0.5]), np.random.default_rng(0)
    first, second = rng.random((4, 3)) < 0.5, rng.random((4, 3)) < 0.5
    joint = joint_law(share, 0.1, 0.3)
    found = same_person(first, second, first_flip=0.1, second_flip=0.3, share=share)
    for i in range(4):
        for j in range(4):
            terms = [
                math.log(joint[y, z, k] / (joint[y, :, k].sum() * joint[:, z, k].sum()))
                for k, (y, z) in enumerate(zip(first[i].astype(int), second[j].astype(int), strict=True))
            ]
            assert found[i, j] == pytest.approx(sum(terms))
