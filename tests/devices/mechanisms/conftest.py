"""Noise whose draws are chosen, so that a mechanism's law can be enumerated exactly."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

ONE = 1 << 64


class Scripted:
    """A noise stream that returns given draws and multiplies up their exact probability."""

    def __init__(self, bits: tuple[bool, ...], integer: int = 0) -> None:
        self.bits = list(bits)
        self.integer = integer
        self.probability = Fraction(1)

    def bernoulli(self, threshold: int | np.ndarray, size: int) -> np.ndarray:
        taken, self.bits = self.bits[:size], self.bits[size:]
        thresholds = [threshold] * size if isinstance(threshold, int) else threshold.tolist()
        assert len(taken) == size == len(thresholds) and all(0 < int(t) < ONE for t in thresholds)
        for bit, t in zip(taken, thresholds, strict=True):
            self.probability *= Fraction(int(t) if bit else ONE - int(t), ONE)
        return np.array(taken, np.bool_)

    def uniform_integer(self, bound: int) -> int:
        assert 0 <= self.integer < bound
        self.probability *= Fraction(1, bound)
        return self.integer


def scripts(bits: int, integers: int = 1) -> Iterator[Scripted]:
    """Every outcome of that many trials and one uniform integer."""
    for outcome in itertools.product((False, True), repeat=bits):
        for integer in range(integers):
            yield Scripted(outcome, integer)


@pytest.fixture
def all_noise():
    return scripts
