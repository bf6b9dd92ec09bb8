"""The audit of the noise stream passes the right one and fails two that are slightly wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.attacks.stream_audit import audit_stream
from ldpsim.devices.noise import NoiseStream


class FewerBits(NoiseStream):
    """Compares the upper 24 bits alone."""

    def bernoulli(self, threshold: Any, size: int) -> np.ndarray:
        words = self._draw(1, size) >> 8
        return words < np.asarray(threshold, np.uint64) >> np.uint64(40)


class OnTies(NoiseStream):
    """Takes a tie of the upper 32 bits for a success."""

    def bernoulli(self, threshold: Any, size: int) -> np.ndarray:
        return self._draw(1, size) <= np.asarray(threshold, np.uint64) >> np.uint64(32)


@pytest.mark.parametrize(("stream", "passed"), [(NoiseStream, True), (FewerBits, False), (OnTies, False)])
def test_the_noise_stream(stream: Callable[[bytes], Any], passed: bool) -> None:
    (row,) = audit_stream(stream)
    assert row.passed is passed
