"""Numbers as people read them."""

from __future__ import annotations

import math

import pytest

from ldpsim.strategies.results.numbers import NONE, bytes_, count, duration, percent, plus_minus, points, seconds, size


def test_shares_are_points_and_per_cent() -> None:
    assert (points(0.8125), points(None), points(math.nan), points(0.5, 0)) == ("81.2", NONE, NONE, "50")
    assert (percent(0.5), percent(None)) == ("50.0 %", NONE)
    assert (plus_minus(0.0104), plus_minus(0.5, 0), plus_minus(None)) == (" ± 1.0", " ± 50", "")


def test_bytes_seconds_and_counts() -> None:
    assert [size(value) for value in (12, 1500, 2.5e6, 3e9, 2e16)] == ["12 B", "1.5 kB", "2.5 MB", "3.0 GB", "20.0 PB"]
    assert (bytes_(0), bytes_(402)) == ("none", "402 B")
    assert [seconds(value) for value in (None, 0, 0.01, 1.24, 1234.0)] == [NONE, "0.0", "<0.1", "1.2", "1,234"]
    assert (count(1, "round"), count(1200, "round")) == ("1 round", "1,200 rounds")


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.2, "0 s"), (99.4, "99 s"), (100, "2 min"), (5940, "99 min"), (6000, "1 h 40 min"), (7500, "2 h 05 min")],
)
def test_durations(value: float, words: str) -> None:
    assert duration(value) == words
