"""Figures of a record over several repeats (the whole record: runs/test_simulate.py)."""

from __future__ import annotations

import statistics

import pytest

from strategies.results.record import _spread, mean


def test_the_spread_is_the_sample_standard_deviation() -> None:
    figures = [0.5, 0.7, 0.8, 0.9]
    assert _spread(figures) == pytest.approx(statistics.stdev(figures), rel=1e-12)
    assert _spread([0.4, 0.6]) == pytest.approx(0.02**0.5)  # not 0.1, the population's
    assert _spread([0.4, None, 0.6]) == pytest.approx(0.02**0.5)
    assert _spread([0.4]) is None is _spread([None, 0.4])


def test_the_mean_leaves_out_what_is_not_known() -> None:
    assert mean([0.4, None, 0.8]) == pytest.approx(0.6)
    assert mean([None]) is None is mean([])
