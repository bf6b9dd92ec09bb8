"""Expected sizes of rows: by enumeration, and from their laws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.mechanisms import NoisyRow, RandomizedResponse
from ldpsim.strategies.estimate.row_sizes import bytes_of_bits, expected_bytes, expected_ones


@pytest.mark.parametrize(
    ("size", "share"), [(0, 0.3), (100, 0.0), (100, 0.05), (100, 0.5), (2000, 0.002), (40_000, 1e-5)]
)
def test_the_expected_size_is_that_of_the_gaps_or_of_the_packed_bits(size: int, share: float) -> None:
    """A one at each place, times the bytes of the gap before it, which is at least a power of 128 with this chance."""
    gaps = sum(share * (1 + sum((1 - share) ** (1 << 7 * k) for k in (1, 2, 3) if place >= 1 << 7 * k))
               for place in range(size))  # fmt: skip
    assert bytes_of_bits(size, share) == pytest.approx(1 + min(gaps, -(-size // 8)), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "n", "degree"), [(4.0, 1000, 5), (4.0, 30, 20), (0.05, 9, 3), (12.0, 40, 3)])
def test_the_mean_size_of_a_noisy_row_follows_from_its_law(epsilon: float, n: int, degree: int) -> None:
    """The width is that of the widest number: the sum over all widths of the chance that one number is wider."""
    mechanism = NoisyRow.from_epsilon(epsilon, n=n)
    width = 1.0
    for half in (1 << 7, 1 << 15, 1 << 23):
        noise = np.arange(-min(half, 1 << 16), min(half, 1 << 16))  # beyond, no noise of these budgets comes
        rate = mechanism.s / mechanism.t  # discrete Laplace: P(k) = tanh(rate / 2) exp(-rate |k|)
        fits = [math.tanh(rate / 2) * math.fsum(np.exp(-rate * np.abs(noise - worth))) for worth in (0, mechanism.grid)]
        width += 1 - fits[0] ** (n - 1 - degree) * fits[1] ** degree
    assert expected_bytes(mechanism, degree) == pytest.approx(1 + (n - 1) * width, rel=0.02)


@pytest.mark.parametrize("reporting", ["both", "one-end"])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_what_is_expected_is_the_mean_over_all_devices(epsilon: float, reporting: Any) -> None:
    """On a ring everybody has two neighbours; the rows of a device lie before it where one end reports."""
    n = 41
    mechanism = RandomizedResponse.from_epsilon(epsilon, n=n, reporting=reporting)
    p = mechanism.flip_probability
    ones = 0.0
    for device in range(n):
        others = {other for other in range(n) if other != device and (reporting == "both" or other < device)}
        near = len(others & {(device - 1) % n, (device + 1) % n})
        ones += near * (1 - p) + (len(others) - near) * p
    assert expected_ones(mechanism, 2.0) == pytest.approx(ones / n, rel=1e-12)
    share = (2 * (1 - p) + (n - 3) * p) / (n - 1)
    sizes = [bytes_of_bits(mechanism.targets(device), share) for device in range(n)]
    assert expected_bytes(mechanism, 2.0) == pytest.approx(np.mean(sizes), rel=0.02)
