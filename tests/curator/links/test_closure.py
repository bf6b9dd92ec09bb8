from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.links import edge_prior as closure
from ldpsim.curator.links.edge_prior import closure_score, common_partners

N = 7


def _weights(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    half = np.triu(rng.random((N, N)) * (rng.random((N, N)) < 0.5), 1)
    return np.asarray(half + half.T)


@pytest.mark.parametrize("at_once", [1, 5, 1 << 22])
def test_it_is_the_sum_over_all_third_people(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closure, "_ENTRIES_AT_ONCE", at_once)
    dense = _weights(0)
    left, right = np.array(list(combinations(range(N), 2))).T
    wanted = [
        sum(dense[i, k] * dense[j, k] for k in range(N) if k not in (i, j)) for i, j in zip(left, right, strict=True)
    ]
    np.testing.assert_allclose(common_partners(csr_array(dense), left, right), wanted)
    np.testing.assert_allclose(closure_score(csr_array(dense), left, right), np.log(np.array(wanted) + 0.02))


def test_the_own_pair_is_not_heard() -> None:
    dense, pair = _weights(1), (np.array([2]), np.array([5]))
    before = common_partners(csr_array(dense), *pair)
    dense[2, 5] = dense[5, 2] = 0.9
    assert common_partners(csr_array(dense), *pair) == before
    dense[2, 3] = dense[3, 2] = dense[5, 3] = dense[3, 5] = 0.9
    assert common_partners(csr_array(dense), *pair) != before
