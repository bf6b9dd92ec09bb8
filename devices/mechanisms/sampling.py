"""Which m of d coordinates are reported: a uniform subset, drawn exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from devices.noise import NoiseStream


def subset(noise: NoiseStream, d: int, m: int) -> NDArray[np.int64]:
    """int64 (m,), sorted: a uniform m-subset of 0 .. d - 1, by the first m steps of Fisher and Yates.

    No draw is made where m = d.
    """
    if m == d:
        return np.arange(d)
    moved: dict[int, int] = {}  # where the shuffle has put something else than the place's own number
    chosen = []
    for step in range(m):
        place = step + noise.uniform_integer(d - step)
        chosen.append(moved.get(place, place))
        moved[place] = moved.get(step, step)
    return np.array(sorted(chosen), np.int64)
