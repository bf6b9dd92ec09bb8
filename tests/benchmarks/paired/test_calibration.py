"""Bins of predicted probabilities against counts by hand, and a picture that is drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.paired.calibration import calibration, draw, read_bins, write_bins


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


def test_bins_are_kept_by_case_and_drawn(tmp_path: Path) -> None:
    first = calibration([0.125] * 8 + [0.75] * 1000, [True] + [False] * 7 + [True] * 750 + [False] * 250)
    second = calibration([0.5] * 4, [True, True, False, False])
    write_bins(tmp_path / "b.csv", "cora", {"edges": second, "classes": second}, missed=3)
    write_bins(tmp_path / "b.csv", "citeseer", {"edges": second, "classes": second})
    write_bins(tmp_path / "b.csv", "cora", {"edges": first, "classes": second}, missed=7)
    found = read_bins(tmp_path / "b.csv")
    assert found["edges"] == {"citeseer": (second, 0), "cora": (first, 7)}
    assert found["classes"] == {"citeseer": (second, 0), "cora": (second, 0)}
    assert read_bins(tmp_path / "absent.csv") == {}
    draw({kind: {case: one for case, (one, _) in cases.items()} for kind, cases in found.items()}, tmp_path / "c.png")
    assert (tmp_path / "c.png").stat().st_size > 5000
