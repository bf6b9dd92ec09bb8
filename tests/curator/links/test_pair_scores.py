"""Scores of pairs from the features of both ends.

It covers ``curator/reports/estimates.py`` too.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.links.edge_prior import public_scores, reported_scores
from ldpsim.curator.reports.estimates import FlippedFeatures

LEFT, RIGHT = np.array([0, 0, 1]), np.array([1, 2, 2])


@pytest.mark.parametrize("sparse", [True, False])
def test_public_rows_give_cosine_and_its_logarithm(sparse: bool) -> None:
    rows = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]], np.float32)
    found = public_scores(csr_array(rows) if sparse else rows)(LEFT, RIGHT)
    np.testing.assert_allclose(found[:, 0], [0.6, 0, 0.8], atol=1e-6)
    np.testing.assert_allclose(found[:, 1], np.log(found[:, 0] + 0.02))


def test_rows_of_both_signs_keep_theirs() -> None:
    rows = np.array([[1.0, 0.0], [-0.6, 0.8], [0.0, -1.0]], np.float32)
    for form in (rows, csr_array(rows)):
        found = public_scores(form)(LEFT, RIGHT)
        np.testing.assert_allclose(found[:, 0], [-0.6, 0, -0.8], atol=1e-6)
        assert np.isfinite(found).all()


def test_the_product_of_debiased_bits_is_unbiased_over_all_noise() -> None:
    """Every outcome of two people's four bits."""
    flip, truth = 0.2, np.array([[1, 1, 1, 0], [0, 1, 1, 1]])
    total = 0.0
    for bits in product([0, 1], repeat=8):
        drawn = np.array(bits).reshape(2, 4)
        chance = np.where(drawn == truth, 1 - flip, flip).prod()
        scores = reported_scores(
            FlippedFeatures(np.packbits(drawn.astype(bool), axis=1), 4, flip, np.ones(2, np.bool_))
        )
        squares = drawn.sum(axis=1) - 4 * flip
        lengths = np.sqrt(np.maximum(squares, max(0.3 * np.median(squares), 1)))
        total += chance * scores(np.array([0]), np.array([1]))[0, 0] * lengths.prod()
    assert total == pytest.approx((1 - 2 * flip) ** 2 * 2)
