from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from curator.linear.ones import numbers


def test_numbers_share_the_places_and_can_be_added() -> None:
    ones = csr_array(np.random.default_rng(0).random((20, 20)) < 0.3)
    found = numbers(ones)
    assert found.dtype == np.int8
    assert np.shares_memory(found.indices, ones.indices) and np.shares_memory(found.data, ones.data)
    assert np.array_equal((found + found).toarray(), 2 * ones.toarray().astype(int))


def test_numbers_of_another_type_are_the_same_ones() -> None:
    ones = csr_array(np.eye(3, dtype=np.float32))
    assert np.array_equal(numbers(ones).toarray(), np.eye(3))
