"""Crossings, their intervals and Holm's test, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.papers.trust_lines import crossing, crossing_text, holm
from benchmarks.papers.who_is_trusted import keys_of, runs


@pytest.mark.parametrize(
    ("differences", "expected"),
    [([-1, -1, 1, 3], math.sqrt(8)), ([1, 2, 3, 4], 0.0), ([1, 2, 3, -1], math.inf), ([1, -3, 1, 1], 2**1.75),
     ([-1, 3, 3, 0], math.inf)],
)  # fmt: skip
def test_a_crossing_is_where_a_line_stays_above(differences: list[float], expected: float) -> None:
    """Half way between two epsilons is their geometric mean; a line that falls below again has crossed only later."""
    assert crossing([1, 2, 4, 8], differences) == pytest.approx(expected)


def test_an_interval_is_that_of_seeds_and_a_missing_epsilon_is_left_out() -> None:
    flat = dict.fromkeys((1.0, 2.0, 4.0, 8.0), np.zeros(10))
    rising = {1.0: np.full(10, -1.0), 4.0: np.full(10, 1.0)}
    assert crossing_text(rising, flat) == "2.0"  # every sample of the seeds is the same
    spread = {1.0: np.full(10, -1.0), 4.0: np.array([0.5, 2.0] * 5)}
    low, high = crossing_text(spread, flat).split("(")[1].rstrip(")").split(" to ")
    assert 4 ** (1 / 3) < float(low) < float(high) < 4 ** (1 / 1.5)  # were all seeds the one kind or the other
    assert crossing_text(flat, rising).startswith("above 4") and crossing_text({1.0: flat[1.0]}, flat) == "-"
    assert crossing_text({e: each + 1 for e, each in flat.items()}, flat) == "below 1"


def test_holm_stops_at_the_first_that_is_not_rejected() -> None:
    assert holm({"a": 0.012, "b": 0.016, "c": 0.04, "d": 0.2}) == ["a", "b"]  # .05/4, .05/3, then .04 above .05/2
    assert holm({"a": 0.013, "b": 0.0167}) == ["a", "b"] and holm({"a": 0.03, "b": 0.03}) == []


def test_no_run_is_made_twice() -> None:
    keys = [tuple(keys_of(options).items()) for options in runs()]
    assert len(set(keys)) == len(keys) > 700
