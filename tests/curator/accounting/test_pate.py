from __future__ import annotations

import math

import pytest

from curator.accounting.laplace import laplace_epsilon
from curator.accounting.pate import moments_epsilon


def test_small_lambda_takes_the_first_moment_and_large_the_eighth() -> None:
    found = [moments_epsilon(lambda_=x, queries=500, delta=4e-4) for x in (0.1, 0.2, 0.4, 0.8, 1.0)]
    assert [epsilon for epsilon, _ in found] == pytest.approx(
        [27.824046, 87.824046, 327.824046, 800.978006, 1000.978006], abs=5.1e-7
    )
    assert [moment for _, moment in found] == [1, 1, 1, 8, 8]
    assert found[0][0] == pytest.approx(4 * 0.1**2 * 500 + math.log(1 / 4e-4))


@pytest.mark.parametrize("lambda_", [0.1, 0.2, 0.4, 0.8, 1.0])
def test_it_is_a_bound(lambda_: float) -> None:
    """Never below what the privacy loss distribution gives for the same votes."""
    bound, _ = moments_epsilon(lambda_=lambda_, queries=500, delta=4e-4)
    assert bound > laplace_epsilon(loss=2 * lambda_, queries=500, delta=4e-4)
