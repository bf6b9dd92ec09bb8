"""Seeding of the global generators: the same draws inside, and the old states afterwards."""

from __future__ import annotations

import random

import numpy as np
import pytest

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


@pytest.mark.parametrize("seed", [0, 3, 2**32 - 1])
def test_a_small_seed_is_numpy_s_own(seed: int) -> None:
    with seeded(seed):
        assert np.random.random() == np.random.RandomState(seed).random()


def test_an_error_inside_restores_too() -> None:
    random.seed(7)
    expected = random.random()
    random.seed(7)
    with pytest.raises(ZeroDivisionError), seeded(1):
        raise ZeroDivisionError
    assert random.random() == expected
