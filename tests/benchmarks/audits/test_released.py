"""Page of the attacks on published models."""

from __future__ import annotations

from benchmarks.audits.released import ReleasedCell, page, rows_of
from benchmarks.study import Row
from curator.attacks.released_model import InferenceRow


def row(claimed: float | None, passed: bool | None) -> Row:
    found = InferenceRow("hogs", "label", claimed, None, 0.5, 0.999, 80, passed, "words", 0.75, 0.2, 0.05,
                         None if claimed is None else 0.1359, 0.8, None if claimed is None else 0.7311, 40)  # fmt: skip
    return rows_of(ReleasedCell("hogs", 1.0), [found.to_dict()])[0]


def test_rows_with_and_without_a_guarantee() -> None:
    text = page([row(1.0, True), row(None, None)])
    assert "Of 1 rows with a guarantee 1 stay below it; nothing bounds the other 1." in text
    assert "| hogs | 1 | a label | 1 | 0.5 | 75.0 | 20.0 | 13.6 | 80.0 | 73.1 | below the claim |" in text
    assert "|  |  | a label | - | 0.5 | 75.0 | 20.0 | - | 80.0 | - | nothing bounds it |" in text
    assert "ABOVE THE CLAIM" in page([row(0.1, False)])
