"""Pseudonyms are no protection where d * I exceeds ln n."""

from __future__ import annotations

import math

import numpy as np
import pytest

from curator.attacks.linkage import information, joint_law, match, scores


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
    found = scores(first, second[pseudonyms], first_flip=flip(epsilon), second_flip=flip(epsilon), share=0.5)
    rate = np.mean(pseudonyms[match(found)] == np.arange(400))
    assert least <= rate <= most
    together = np.mean(pseudonyms[match(found, together=True)] == np.arange(400))
    assert together >= rate - 0.03


def test_scores_by_the_definition() -> None:
    share, rng = np.array([0.2, 0.6, 0.5]), np.random.default_rng(0)
    first, second = rng.random((4, 3)) < 0.5, rng.random((4, 3)) < 0.5
    joint = joint_law(share, 0.1, 0.3)
    found = scores(first, second, first_flip=0.1, second_flip=0.3, share=share)
    for i in range(4):
        for j in range(4):
            terms = [
                math.log(joint[y, z, k] / (joint[y, :, k].sum() * joint[:, z, k].sum()))
                for k, (y, z) in enumerate(zip(first[i].astype(int), second[j].astype(int), strict=True))
            ]
            assert found[i, j] == pytest.approx(sum(terms))
