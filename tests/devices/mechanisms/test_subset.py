"""Every subset comes with the same probability, exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldpsim.devices.mechanisms.sampling import subset
from ldpsim.devices.noise import NoiseStream


@pytest.mark.parametrize(("d", "m"), [(1, 1), (4, 1), (4, 2), (5, 3), (5, 4), (5, 5)])
def test_the_subset_is_uniform(law, d: int, m: int) -> None:
    found, lost = law(lambda noise: tuple(subset(noise, d, m).tolist()))
    assert lost == 0 and len(found) == math.comb(d, m)
    assert all(list(chosen) == sorted(set(chosen)) and len(chosen) == m for chosen in found)
    assert list(found.values()) == pytest.approx([1 / math.comb(d, m)] * len(found), abs=1e-14)


def test_all_features_need_no_draw() -> None:
    class Silent(NoiseStream):
        def _draw(self, lane: int, size: int) -> np.ndarray:
            raise AssertionError("drew")

    assert subset(Silent(bytes(32)), 7, 7).tolist() == list(range(7))
