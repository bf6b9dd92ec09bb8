"""Similar people: the nearest by cosine, never oneself, and fewer candidates where there are many people."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.linear import similar_rows as module
from ldpsim.curator.linear.similar_rows import near_rows

RNG = np.random.Generator(np.random.PCG64(1))
ROWS = RNG.random((50, 8)).astype(np.float32)
ROWS /= np.linalg.norm(ROWS, axis=1, keepdims=True)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("dense", [0, 1024])
def test_neighbours_are_the_nearest(kind: type, dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_DENSE", dense)
    monkeypatch.setattr(module, "_AT_ONCE", 350)  # seven rows at once
    found = near_rows(kind(ROWS), 5).toarray()
    cosines = ROWS @ ROWS.T
    np.fill_diagonal(cosines, 0)
    expected = np.where(cosines >= np.sort(cosines, axis=1)[:, -5:-4], cosines, 0)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_of_many_people_some_are_looked_among(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 10)
    found = near_rows(ROWS, 3)
    assert len(np.unique(found.indices)) <= 10
    assert (np.diff(found.indptr) == 3).all() and not found.diagonal().any()


def test_rows_of_zeros_and_few_people() -> None:
    assert near_rows(csr_array((6, 4), dtype=np.float32)).nnz == 0
    assert near_rows(np.ones((1, 1), np.float32)).nnz == 0
    assert near_rows(np.ones((3, 1), np.float32)).toarray().tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
