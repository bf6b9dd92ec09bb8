"""Row of a sweep's table: each figure comes from its own field of the record (tables as files: test_sweep.py)."""

from __future__ import annotations

from typing import Any

import pytest

from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.outputs.sweep_table import row_of


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    """Return a record whose figures are all different."""
    found = simulate(RunOptions(clients=40, settings={"epochs": "1"}, reference=False, nulls=False, out=None)).record
    found["accuracy"].update(test=0.11, val=0.12, macro_f1=0.13, std=0.14)
    found["reference"].update(nonprivate_test=0.15)
    found["devices"].update(asked=100, reported=40, replayed=30, refused=16, silent=9, failed=5)
    found["privacy"].update(collections=7, searched=8, trust="none", claimed={"statement": "as printed", "value": 0.16})
    for number, level in enumerate(LEVELS):
        found["privacy"]["holds"][level] = {"value": 1.0 + number, "status": f"status {number}",
                                            "delta": number * 1e-9, "detail": "",
                                            "of_one": {"value": 0.5 + number, "delta": 0.0, "of": 7}}  # fmt: skip
    found["reconstruction"].update(
        edge_precision=0.17, edge_recall=0.18, edges=190, feature_mae=0.20, aggregate_mae=0.21
    )
    return found


def test_each_figure_of_a_row_is_read_from_its_own_field(record: dict[str, Any]) -> None:
    row = row_of(3, record, "folder")
    expected = {
        "cell": 3, "status": "done", "folder": "folder", "test": 0.11, "val": 0.12, "macro_f1": 0.13, "std": 0.14,
        "nonprivate_test": 0.15, "claimed": 0.16, "trust": "none", "collections": 7, "searched": 8,
        "asked": 100, "answered": 70,
        "refused": 16, "silent": 9, "failed": 5, "edge_precision": 0.17, "edge_recall": 0.18, "edges_kept": 190,
        "feature_mae": 0.20, "aggregate_mae": 0.21,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    for number, level in enumerate(LEVELS):
        held = (row[f"holds_{level}"], row[f"holds_{level}_status"], row[f"holds_{level}_delta"])
        assert held == (1.0 + number, f"status {number}", number * 1e-9), level
        assert row[f"holds_{level}_of_one"] == 0.5 + number
    for name, seed in record["seeds"].items():
        assert row[f"{name}_seed"] == seed
