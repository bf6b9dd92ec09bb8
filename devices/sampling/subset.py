"""Uniform subsets of m of d coordinates, drawn exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpsim.devices.array_types import BoolArray, IntArray, Words
from ldpsim.devices.noise import Draws, NoiseStream


def subset(noise: NoiseStream | Draws, d: int, m: int) -> IntArray:
    """int64 (m,), sorted: a uniform m-subset of 0 .. d - 1, by the first m steps of Fisher and Yates.

    Of several devices (devices, m). No draw is made where m = d.
    """
    if isinstance(noise, Draws):
        size = 0 if m == d else m
        return noise.each(size, lambda words: _subsets(words, d, m), lambda _, own: subset(own, d, m))
    if m == d:
        return np.arange(d)
    moved: dict[int, int] = {}  # places whose number the shuffle has changed
    chosen = []
    for step in range(m):
        place = step + noise.uniform_integer(d - step)
        chosen.append(moved.get(place, place))
        moved[place] = moved.get(step, step)
    return np.array(sorted(chosen), np.int64)


def places(subset: IntArray) -> Any:
    """Return the index of these coordinates in an array (d,), or in one (devices, d) of several devices."""
    return subset if subset.ndim == 1 else (np.arange(len(subset))[:, None], subset)


def _subsets(words: Words, d: int, m: int) -> tuple[IntArray, BoolArray]:
    """Return the subset of each row of words, and which words are rejected: the row's subset needs further ones."""
    shuffled = np.tile(np.arange(d), (len(words), 1))
    bounds, rows = d - np.arange(words.shape[1]), np.arange(len(words))
    for step, place in enumerate((words % bounds).T):
        chosen = shuffled[rows, step + place]
        shuffled[rows, step + place] = shuffled[:, step]
        shuffled[:, step] = chosen
    return np.sort(shuffled[:, :m], axis=1), words >= (1 << 32) - (1 << 32) % bounds
