"""Page of link prediction: figures in per cent, and re-runs beside ours."""

from __future__ import annotations

from typing import Any

from benchmarks.papers.links import CELLS, page, row_of

NULLS: dict[str, Any] = {"chance": {"test": 0.5}, "common_neighbours": {"test": 0.7, "std": 0.01},
                         "pagerank": {"test": 0.8, "std": None}, "features_alone": None,
                         "shuffled": {name: {"test": 0.81, "std": 0.02} for name in ("features", "all")}}  # fmt: skip
RECORD: dict[str, Any] = {
    "links": {"test": {"auc": 0.83, "average_precision": 0.84}, "std": 0.02, "score": "link scorer", "nulls": NULLS},
    "verdict": {"best_null": "shuffled_all", "margin": {"value": 0.02, "low": -0.01, "high": 0.05},
                "bought": {"all": {"value": 0.02, "low": -0.01, "high": 0.05}}},
    "privacy": {"holds": {"relationship": {"status": "unprotected", "value": None}}},
}  # fmt: skip


def test_a_row_and_its_page() -> None:
    row = row_of(CELLS[0], RECORD)
    assert (row["auc"], row["pagerank_sd"], row["features_alone"], row["edge"]) == ("83.00", "", "", "unprotected")
    text = page([row])
    assert "| privge | 1 | 10 | 83.0 ± 2.0 | 84.0 | 70.0 ± 1.0 | 80.0 | - | 81.0 ± 2.0 | +2.0 (-1.0 to +5.0) |" in text
    assert "| privge | 1 | 83.0 ± 2.0, 10 seeds | 82.9 ± 0.8, 2 seeds |" in text
    assert "0 of 1 rows are measurably above their best null model" in text
