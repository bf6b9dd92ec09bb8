"""Rows of a Gaussian kernel: their products, and a problem that no linear rule solves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.linear.similar_rows import LANDMARKS, kernel_rows, landmarks_of

RNG = np.random.Generator(np.random.PCG64(2))
ROWS = RNG.normal(size=(60, 5)).astype(np.float32)


def _kernel(width: float) -> np.ndarray:
    squares = np.square(ROWS[:, None] - ROWS).sum(axis=2)
    return np.exp(-width * squares)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("width", [0.1, 1.0])
def test_products_are_the_kernel_where_everybody_is_a_landmark(kind: type, width: float) -> None:
    found = kernel_rows(kind(ROWS), np.arange(60), width)
    np.testing.assert_allclose(found @ found.T, _kernel(width), atol=1e-3)
    few = kernel_rows(kind(ROWS), np.arange(20), width)
    np.testing.assert_allclose((few @ few.T)[:20], _kernel(width)[:20], atol=1e-3)  # exact with a landmark


def test_landmarks_are_spread_over_the_people_and_few_among_many() -> None:
    people = np.arange(100, 5100)
    found = landmarks_of(people, 10000)
    assert len(np.unique(found)) == LANDMARKS and found[0] == 100 and found[-1] == 5099
    assert landmarks_of(people[:3], 10000).tolist() == [100, 101, 102]
    assert len(landmarks_of(people, 1 << 20)) == 64


def test_rows_of_zeros_and_one_landmark() -> None:
    for rows in (np.zeros((4, 3), np.float32), csr_array((4, 3), dtype=np.float32)):
        np.testing.assert_allclose(kernel_rows(rows, np.array([0]), 1.0), 1)
        np.testing.assert_allclose(kernel_rows(rows, np.arange(4), 1.0) @ np.ones((1, 1)) ** 2, 1, atol=1e-6)
