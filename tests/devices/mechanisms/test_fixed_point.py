"""Exponentials and logarithms in whole numbers against 40 digits."""

from __future__ import annotations

import hashlib
import math

import numpy as np

from ldpsim.devices.mechanisms.class_table import UNIT_BITS, falling_powers, logarithm


def test_logarithms_are_right_to_a_unit() -> None:
    rng = np.random.default_rng(3)
    numbers = np.concatenate([
        np.arange(1, 3000), 1 << np.arange(62), (1 << np.arange(2, 62)) - 1, rng.integers(1, 1 << 62, 5000),
        (1 << rng.integers(1, 62, 5000)) + rng.integers(0, 1 << 20, 5000),
    ])  # fmt: skip
    exact = np.array([math.log(number) for number in numbers.tolist()]) * (1 << UNIT_BITS)
    assert np.abs(logarithm(numbers) - exact).max() < 0.6


def test_a_logarithm_never_falls() -> None:
    near = np.concatenate([(1 << power) + np.arange(-40, 41) for power in range(7, 61)])
    assert (np.diff(logarithm(np.unique(near))) >= 0).all()


def test_powers_are_rounded_to_the_nearest() -> None:
    powers = falling_powers(16, 256, one=1 << 24)
    exact = np.exp(-np.arange(256) / 16) * (1 << 24)
    assert np.abs(powers - exact).max() < 0.5000001 and powers[0] == 1 << 24 and powers.min() >= 2


def test_the_numbers_are_the_same_for_ever() -> None:
    """The bytes of every answer hang on them; this digest holds on any machine."""
    numbers = np.arange(1, 200_000, 7) ** 3
    taken = logarithm(numbers).astype("<i8").tobytes() + falling_powers(16, 256, one=1 << 24).astype("<i8").tobytes()
    assert hashlib.sha256(taken).hexdigest() == "4d2db168f35f6621732be102c82bcb6b2ed19f9a1839733864501d0d63c1c2e2"
