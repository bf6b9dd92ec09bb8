"""Page of the rebuilt graphs."""

from __future__ import annotations

from pathlib import Path

from benchmarks.audits.rebuild import KEYS, RebuildCell, draw, page, rows_of
from benchmarks.study import Row
from curator.attacks.rebuild import RebuildRow


def row(claimed: float | None, coins: float = 0.6, delta: float = 0.0) -> Row:
    found = RebuildRow(
        "hogs", "relationship", claimed, None, 0.2, 0.999, 90, None if claimed is None else True, "words",
        aucs={"public": [0.5, 0.6], "similarity": [0.7, 0.7], "together": [0.8, 0.7]}, coin_aucs=[coins, coins],
        largest_auc=None if claimed is None else 0.73, right=0.6, guesses=90, pairs=40, coins=20, delta=delta,
    )  # fmt: skip
    return rows_of(RebuildCell("hogs", 1.0), found.to_dict())[0]


def test_rows_with_and_without_a_bound() -> None:
    text = page([row(1.0), row(None), row(1.0, 0.75)])
    said = " ".join(text.split())
    assert "Of 3 rows 2 have a bound" in said and "1 of these 2 are at" in said and "1 above it, by 2.0 points" in said
    assert "0 of these by less" in said and "is 20.0 to 20.0 points above public data alone" in said
    assert "Not measured" not in said
    assert "| hogs | 1 | 55.0 ± 7.1 | 70.0 ± 0.0 | - | 75.0 ± 7.1 | 60.0 ± 0.0 | 73.0 | 1 |" in text
    assert "| 60.0 ± 0.0 | - | no bound |" in text


def test_a_cell_that_was_not_run_has_an_empty_row() -> None:
    (empty,) = rows_of(RebuildCell("hogs", 1.0), None)
    assert not any(value for name, value in empty.items() if name not in KEYS)
    assert "more than 5 CPU minutes: hogs at 1." in page([row(1.0), empty])


def test_a_small_delta_is_not_written_as_0() -> None:
    assert row(1.0)["delta"] == "0.0000" and row(1.0, delta=1e-5)["delta"] == "1e-05"


def test_a_picture(tmp_path: Path) -> None:
    draw([row(1.0), row(None)], tmp_path / "rebuild.png")
    assert (tmp_path / "rebuild.png").stat().st_size > 1000
