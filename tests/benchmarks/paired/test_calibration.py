"""Bins of predicted probabilities against counts by hand, and a picture that is drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.paired.calibration import calibration, draw, table_lines


def test_bins_hold_every_case_once() -> None:
    rng = np.random.default_rng(4)
    predicted = np.concatenate([rng.random(5000), [0.0, 1.0, 1.0]])
    true = rng.random(len(predicted)) < predicted
    found = calibration(predicted, true)
    assert sum(found.count) == len(predicted)
    assert found.expected == pytest.approx(predicted.sum())
    assert found.happened == pytest.approx(true.sum())
    for low, mean, share, count in zip(np.arange(10) / 10, found.predicted, found.true, found.count, strict=True):
        inside = (predicted >= low) & ((predicted < low + 0.1) | (low == 0.9))
        assert count == inside.sum() and share == pytest.approx(true[inside].mean()) and low <= mean <= low + 0.1


def test_the_error_is_the_mean_distance_over_all_cases() -> None:
    found = calibration([0.1] * 30 + [0.9] * 10, [True] * 6 + [False] * 24 + [True] * 10)
    assert found.error == pytest.approx((30 * 0.1 + 10 * 0.1) / 40)
    assert calibration([], []).error == 0


def test_the_picture_and_the_lines(tmp_path: Path) -> None:
    found = {
        "cora, epsilon 3": calibration([0.1] * 10 + [0.8] * 1000, [True] + [False] * 9 + [True] * 800 + [False] * 200)
    }
    draw({"edges": found, "classes": found}, tmp_path / "figures" / "c.png")
    assert (tmp_path / "figures" / "c.png").stat().st_size > 5000
    assert table_lines(found) == [("cora, epsilon 3", "1,010", "801", "801", "0.000")]
