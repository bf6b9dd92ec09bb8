"""A uniform subset of m of d coordinates, drawn exactly."""

from __future__ import annotations

import numpy as np

from devices.array_types import IntArray
from devices.noise import NoiseStream


def subset(noise: NoiseStream, d: int, m: int) -> IntArray:
    """int64 (m,), sorted: a uniform m-subset of 0 .. d - 1, by the first m steps of Fisher and Yates.

    No draw is made where m = d.
    """
    if m == d:
        return np.arange(d)
    moved: dict[int, int] = {}  # places whose number the shuffle has changed
    chosen = []
    for step in range(m):
        place = step + noise.uniform_integer(d - step)
        chosen.append(moved.get(place, place))
        moved[place] = moved.get(step, step)
    return np.array(sorted(chosen), np.int64)
