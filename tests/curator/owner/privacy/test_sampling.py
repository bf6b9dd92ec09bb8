from __future__ import annotations

import math

import pytest

from ldpsim.curator.owner.privacy.sampling import amplified, sampled_once


def test_amplification() -> None:
    for epsilon in (0.0, 0.3, 5.0):
        assert amplified(epsilon, 0.3) == pytest.approx(math.log(1 + 0.3 * (math.exp(epsilon) - 1)), abs=1e-15)
    assert amplified(1.7, 1.0) == 1.7
    assert amplified(5000.0, 0.3) == pytest.approx(5000 + math.log(0.3), rel=1e-15)


def test_delta_is_spent_on_the_sample() -> None:
    asked: list[float] = []

    def unsampled(delta: float) -> float:
        asked.append(delta)
        return 2.0

    assert sampled_once(0.25, 1e-4, unsampled) == amplified(2.0, 0.25)
    assert asked == [4e-4]
    assert sampled_once(1e-4, 1e-4, unsampled) == 0
    assert len(asked) == 1
