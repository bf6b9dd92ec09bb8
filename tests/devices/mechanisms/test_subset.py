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


def test_drawing_with_replacement_is_not_the_law(law) -> None:
    def broken(noise) -> tuple[int, ...]:
        return tuple(sorted(noise.uniform_integer(4) for _ in range(2)))

    found, _ = law(broken)
    assert len(found) == 10 and found[0, 0] == 1 / 16  # one feature twice: the law above has no such report


def test_all_features_need_no_draw() -> None:
    class Silent(NoiseStream):
        def _draw(self, lane: int, size: int) -> np.ndarray:
            raise AssertionError("drew")

    assert subset(Silent(bytes(32)), 7, 7).tolist() == list(range(7))


def test_large_subsets_are_cheap_and_have_the_right_margins() -> None:
    hits = np.zeros(200)
    for key in range(400):
        hits[subset(NoiseStream(key.to_bytes(32, "little")), 200, 150)] += 1
    # each margin is Bin(400, 3/4); 200 of them, two-sided 1e-6 in all: 5.7 standard deviations
    assert np.abs(hits - 300).max() < 5.7 * math.sqrt(400 * 0.75 * 0.25)
