from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from ldpsim.curator.graph import Graph
from ldpsim.curator.posterior.network import with_beliefs

LN = np.log(np.array([[0.5, 0.25, 0.25], [1e-30, 1.0, 1e-30]]))


def _graph(features: object) -> Graph:
    nobody = np.zeros(0, np.int64)
    return Graph(features, np.zeros((2, 0), np.int64), None, np.zeros(2, np.int64), nobody, nobody)


def test_beliefs_are_centred_clipped_and_scaled() -> None:
    alone = with_beliefs(_graph(csr_array((2, 0), dtype=np.float32)), LN).features
    assert alone.dtype == np.float32 and alone.sum(axis=1)[0] == pytest.approx(0, abs=1e-6)
    assert alone[0, 0] - alone[0, 1] == pytest.approx(np.log(2) / 8)
    assert alone[1].tolist() == [-1, 1, -1]  # the clipped ends


@pytest.mark.parametrize("features", [csr_array(np.eye(2, 5, dtype=np.float32)), np.array([[1.0, -2.0], [3.0, 4.0]])])
def test_they_stand_beside_the_features(features: object) -> None:
    both = with_beliefs(_graph(features), LN).features
    assert both.shape == (2, features.shape[1] + 3) and issparse(both) == issparse(features)  # type: ignore[attr-defined]
    dense = both.toarray() if issparse(both) else both
    assert np.linalg.norm(dense[:, :-3], axis=1) == pytest.approx(1)
