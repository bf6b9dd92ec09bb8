"""Seeding of the global generators: the same draws inside, and the old states afterwards."""

from __future__ import annotations

import random

import numpy as np

from ldpsim.strategies.seeded import seeded


def test_draws_repeat_inside_and_go_on_outside() -> None:
    def inside() -> tuple[float, float]:
        with seeded(2**40 + 3):
            return random.random(), float(np.random.random())

    random.seed(7)
    np.random.seed(7)
    first, expected = inside(), (random.random(), float(np.random.random()))
    random.seed(7)
    np.random.seed(7)
    assert (random.random(), float(np.random.random())) == expected
    assert inside() == first
    with seeded(3):
        assert np.random.random() != first[1] and random.random() != first[0]  # all bits of the seed count
