"""Uniform subsets of m of d coordinates, drawn exactly."""

from __future__ import annotations

import numpy as np

from ldpsim.devices.array_types import BoolArray, IntArray, Words
from ldpsim.devices.noise import NoiseStream


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


def subsets(words: Words, d: int) -> tuple[IntArray, BoolArray]:
    """Return :func:`subset` of many devices from the first words of their noise, m < d of them in a row.

    Returns:
        int64 (devices, m), sorted; and bool (devices,), True where a word is rejected, so that its
        subset needs further words and the row is of no use.
    """
    count, m = words.shape
    bounds = d - np.arange(m)
    rejected = np.any(words >= (1 << 32) - (1 << 32) % bounds, axis=1)
    places = np.arange(m) + words % bounds
    shuffled = np.tile(np.arange(d), (count, 1))
    rows = np.arange(count)
    for step in range(m):
        chosen = shuffled[rows, places[:, step]].copy()
        shuffled[rows, places[:, step]] = shuffled[:, step]
        shuffled[:, step] = chosen
    return np.sort(shuffled[:, :m], axis=1), rejected
