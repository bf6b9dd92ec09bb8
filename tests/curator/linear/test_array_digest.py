from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator.linear.array_digest import array_digest

ONES = np.eye(3)


def test_arrays_that_differ_in_anything_have_digests_of_their_own() -> None:
    moved = csr_array(np.roll(ONES, 1, axis=1))
    different = [(), (None,), (None, None), (ONES,), (ONES, None), (None, ONES), (ONES.astype(np.float32),),
                 (ONES.reshape(9),), (ONES[:2], ONES[2:]), (csr_array(ONES),), (moved,),
                 (2 * csr_array(ONES),)]  # fmt: skip
    for left, right in combinations(different, 2):
        assert array_digest(*left) != array_digest(*right), (left, right)
    assert array_digest(ONES, start="a") != array_digest(ONES, start="b")
