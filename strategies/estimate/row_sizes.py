"""Expected sizes of the reports whose distribution gives them: rows of randomised response, and of noisy numbers."""

from __future__ import annotations

import math

import numpy as np

from ldpsim.devices.mechanisms import Mechanism, NoisyRow, RandomizedResponse


def expected_ones(mechanism: Mechanism, degree: float) -> float:
    """Return the expected number of neighbours that a report names, false ones included; 0 if it names none."""
    if not isinstance(mechanism, RandomizedResponse):
        return 0.0
    p = mechanism.flip_probability
    return ((mechanism.n - 1 - degree) * p + degree * (1 - p)) / _ends(mechanism)


def expected_bytes(mechanism: Mechanism, degree: float) -> float | None:
    """Return the expected bytes of a report by people of this mean degree; None where only a sample tells them."""
    if isinstance(mechanism, NoisyRow):
        return _bytes_of_numbers(mechanism, degree)
    if not isinstance(mechanism, RandomizedResponse):
        return None
    bits = mechanism.n - 1
    share = _ends(mechanism) * expected_ones(mechanism, degree) / max(bits, 1)
    if mechanism.reporting == "both":
        return bytes_of_bits(bits, share)
    rows = np.linspace(0, bits, 65)  # device i has i bits
    return float(np.trapezoid([bytes_of_bits(row, share) for row in rows], rows)) / max(bits, 1)


def _bytes_of_numbers(mechanism: NoisyRow, degree: float) -> float:
    bits, width, fall = mechanism.n - 1, 1.0, math.exp(-mechanism.s / mechanism.t)
    for size in (7, 15, 23, 31):  # a row is wider than a byte if one of its numbers is
        zero = 2 * fall ** (1 << size) / (1 + fall)
        one = min(1.0, fall ** max((1 << size) - mechanism.grid, 0) / (1 + fall))
        width += 1 - (1 - min(1.0, zero)) ** (bits - degree) * (1 - one) ** degree
    return 1 + bits * width


def bytes_of_bits(size: float, share: float) -> float:
    """Return the expected bytes of packed bits that are 1 independently, each with this probability.

    A one takes a byte more for each power of 128 that the gap before it reaches. The size of the two forms hardly
    varies, so the smaller expectation is that of the smaller form, except next to the point where they meet.

    >>> round(bytes_of_bits(3000, 0.001), 2), bytes_of_bits(3000, 0.4)
    (6.53, 376.0)
    """
    ones = sum(max(size - gap, 0) * share * (1.0 - share) ** gap for gap in (0, 1 << 7, 1 << 14, 1 << 21, 1 << 28))
    return 1.0 + min(ones, float((int(size) + 7) // 8))


def _ends(mechanism: Mechanism) -> int:
    """Return in how many people's rows a pair has one report."""
    return 1 if mechanism.reporting == "both" else 2
