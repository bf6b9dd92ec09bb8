"""Means, spreads and paired differences, against figures worked out by hand, and the page from made-up rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks import RESULTS
from benchmarks.paired.calibration import read_bins
from benchmarks.paired.cells import NOBODY, PRIVATE, PUBLIC
from benchmarks.paired.rows import Row, append, read_rows, write_rows
from benchmarks.paired.sbp_page import BINS, NAME, TABLE, is_safe, joined, page, write
from benchmarks.paired.summary import NOT_RUN, Results, in_words

OURS, THEIRS = (86.0, 85.0, 87.5, 84.0, 86.5, 85.5), (75.0, 76.0, 75.5, 74.0, 77.0, 76.5)
PLACE = ("cora", PUBLIC, "3")


def row(method: str, seed: int, test: float, setting: str = PUBLIC, budget: str = "3", cpu: float = 1.5) -> Row:
    return Row("cora", setting, budget, seed, method, "", test, test - 1, cpu, 1, "q", "r", "c")


ROWS = [
    *(row("sbp", seed, test) for seed, test in enumerate(OURS)),
    *(row("hogs", seed, test) for seed, test in enumerate(THEIRS)),
    *(row("features alone", seed, 77.0 + seed, NOBODY, "") for seed in range(6)),
    row("lp-and", 0, 60.0),
]


def test_a_difference_is_paired_with_students_interval() -> None:
    found = Results(ROWS).difference(PLACE, "sbp", "hogs")
    each = np.subtract(OURS, THEIRS)
    low, high = stats.t.interval(0.95, len(each) - 1, each.mean(), stats.sem(each))
    assert found is not None and (found.value, found.low, found.high) == pytest.approx((each.mean(), low, high))
    assert in_words(found) == f"{each.mean():+.1f} [{low:.1f}, {high:.1f}]"
    assert Results(ROWS).difference(PLACE, "sbp", "lp-and") is None  # one common seed


def test_what_needs_no_question_counts_at_every_budget_where_features_are_public() -> None:
    results = Results(ROWS)
    assert results.shown(PLACE, "features alone") == "79.5 ± 1.9 (6)"
    assert results.shown(("cora", PUBLIC, "1"), "features alone") == "79.5 ± 1.9 (6)"
    assert results.shown(("cora", PRIVATE, "3"), "features alone") == NOT_RUN
    assert results.shown(("cora", PUBLIC, "1"), "sbp") == NOT_RUN
    assert results.shown(PLACE, "lp-and") == "60.0 (1)"


def test_safety_is_half_a_point_or_two_standard_errors() -> None:
    def safe(*points: float) -> bool:
        rows = [row("lp-and", seed, 60.0) for seed in range(len(points))]
        rows += [row("sbp", seed, 60.0 + point) for seed, point in enumerate(points)]
        return is_safe(Results(rows), PLACE)

    assert safe(-0.3, -0.4, -0.5) and not safe(-0.7, -0.7, -0.7)
    assert safe(-3.0, 1.0, -1.0, -1.0)  # 1 point below, standard error .8


def test_the_page_says_what_was_reached_and_what_was_not_run(tmp_path: Path) -> None:
    text = page(Results(ROWS), {})
    said = " ".join(text.split())
    assert "Of 27 goals 0 were reached, 1 were missed (1 of them by less than" in said and "26 were not run." in said
    assert "in 1 of 1 cells" in said
    assert "| Cora | public features | 3 | 86 | 85.8 ± 1.2 (6) | no, -0.25 [-1.5, +1.0] | 85.3 |" in text
    assert "| Cora | public features | 1 | 79 | not run | - | - |" in text
    assert "| cora, public features, 3 | features alone | +6.2" in text
    write(ROWS, tmp_path)
    assert read_rows(tmp_path / TABLE) == ROWS and (tmp_path / "figures" / "sbp.png").stat().st_size > 10_000
    assert (tmp_path / NAME).read_text() == text


def test_rows_of_several_files_are_joined_and_the_last_one_counts(tmp_path: Path) -> None:
    write_rows(tmp_path / "kept.csv", ROWS[:2])
    append(tmp_path / "new.csv", row("sbp", 1, 12.0))
    append(tmp_path / "new.csv", row("sbp", 2, 13.0))
    found = joined(tmp_path / "kept.csv", tmp_path / "new.csv", tmp_path / "absent.csv")
    assert [(each.seed, each.test) for each in found] == [(0, 86.0), (1, 12.0), (2, 13.0)]


def test_the_committed_page_is_written_from_its_table() -> None:
    if (RESULTS / TABLE).is_file():
        assert (RESULTS / NAME).read_text() == page(Results(read_rows(RESULTS / TABLE)), read_bins(RESULTS / BINS))
