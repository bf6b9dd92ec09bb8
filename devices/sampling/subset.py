"""Uniform subsets of m of d coordinates, drawn exactly."""

from __future__ import annotations

import numpy as np

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.noise import Draws, NoiseStream


def subset(noise: NoiseStream | Draws, d: int, m: int) -> IntArray:
    """int64 (m,), sorted: a uniform m-subset of 0 .. d - 1; (devices, m) where several devices draw.

    By the first m steps of Fisher and Yates. No draw is made where m = d.
    """
    bounds = d - np.arange(m if m < d else 0)
    drawn = noise.in_turn(bounds) if isinstance(noise, Draws) else [noise.uniform_integer(b) for b in bounds.tolist()]
    places = np.arange(len(bounds)) + np.atleast_2d(np.array(drawn, np.int64))
    numbers = np.tile(np.arange(d), (len(places), 1))
    rows = np.arange(len(places))
    for step, place in enumerate(places.T):
        chosen = numbers[rows, place]
        numbers[rows, place] = numbers[:, step]
        numbers[:, step] = chosen
    found = np.sort(numbers[:, :m], axis=1)
    return found if isinstance(noise, Draws) else found[0]
