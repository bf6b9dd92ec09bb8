"""Similar people: the nearest by cosine, the rows of a Gaussian kernel, and digests of arrays."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.linear import similar_rows as module
from ldpsim.curator.linear.array_digest import array_digest
from ldpsim.curator.linear.kernel_rows import LANDMARKS, kernel_rows, landmarks_of
from ldpsim.curator.linear.similar_rows import similarity_graph

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


RNG_OF_NEAR_ROWS = np.random.Generator(np.random.PCG64(1))


ROWS_OF_NEAR_ROWS = RNG_OF_NEAR_ROWS.random((50, 8)).astype(np.float32)


ROWS_OF_NEAR_ROWS /= np.linalg.norm(ROWS_OF_NEAR_ROWS, axis=1, keepdims=True)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("dense", [0, 1024])
def test_neighbours_are_the_nearest(kind: type, dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_DENSE", dense)
    monkeypatch.setattr(module, "_AT_ONCE", 350)  # seven rows at once
    found = similarity_graph(kind(ROWS_OF_NEAR_ROWS), 5).toarray()
    cosines = ROWS_OF_NEAR_ROWS @ ROWS_OF_NEAR_ROWS.T
    np.fill_diagonal(cosines, 0)
    expected = np.where(cosines >= np.sort(cosines, axis=1)[:, -5:-4], cosines, 0)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_of_many_people_some_are_looked_among(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 10)
    found = similarity_graph(ROWS_OF_NEAR_ROWS, 3)
    assert len(np.unique(found.indices)) <= 10
    assert (np.diff(found.indptr) == 3).all() and not found.diagonal().any()


def test_rows_of_zeros_and_few_people() -> None:
    assert similarity_graph(csr_array((6, 4), dtype=np.float32)).nnz == 0
    assert similarity_graph(np.ones((1, 1), np.float32)).nnz == 0
    assert similarity_graph(np.ones((3, 1), np.float32)).toarray().tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


ONES = np.eye(3)


def test_arrays_that_differ_in_anything_have_digests_of_their_own() -> None:
    moved = csr_array(np.roll(ONES, 1, axis=1))
    different = [(), (None,), (None, None), (ONES,), (ONES, None), (None, ONES), (ONES.astype(np.float32),),
                 (ONES.reshape(9),), (ONES[:2], ONES[2:]), (csr_array(ONES),), (moved,),
                 (2 * csr_array(ONES),)]  # fmt: skip
    for left, right in combinations(different, 2):
        assert array_digest(*left) != array_digest(*right), (left, right)
    assert array_digest(ONES, start="a") != array_digest(ONES, start="b")
