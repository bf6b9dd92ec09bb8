from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.linear import ones as ones_module
from ldpsim.curator.linear.ones import as_numbers, transposed_parts


def test_numbers_share_the_places_and_can_be_added() -> None:
    ones = csr_array(np.random.default_rng(0).random((20, 20)) < 0.3)
    found = as_numbers(ones)
    assert found.dtype == np.int8
    assert np.shares_memory(found.indices, ones.indices) and np.shares_memory(found.data, ones.data)
    assert np.array_equal((found + found).toarray(), 2 * ones.toarray().astype(int))


def test_numbers_of_another_type_are_the_same_ones() -> None:
    ones = csr_array(np.eye(3, dtype=np.float32))
    assert np.array_equal(as_numbers(ones).toarray(), np.eye(3))


def test_a_transpose_in_parts_is_the_transpose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ones_module, "_AT_ONCE", 20)
    ones = as_numbers(csr_array(np.random.default_rng(1).random((50, 50)) < 0.1))
    parts = list(transposed_parts(ones, 8))
    assert len(parts) > 2 and all(first % 8 == 0 for first, _ in parts)
    assert np.array_equal(np.concatenate([part.toarray() for _, part in parts]), ones.toarray().T)
