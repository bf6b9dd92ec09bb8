"""Index of the results, and the pages that need no run to be written again."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import RESULTS
from benchmarks.papers import figures, index
from benchmarks.papers.curves import points


def test_the_committed_index_is_what_the_writer_makes() -> None:
    assert (RESULTS / index.NAME).read_text() == index.index(RESULTS)


def test_every_page_stands_in_the_index_once() -> None:
    pages = sorted(path.name for path in RESULTS.glob("*.md") if path.name != index.NAME)
    assert sorted(line.page for line in index.LINES) == pages


def test_a_headline_is_read_from_its_page(tmp_path: Path) -> None:
    """Power: other figures on the page give another headline; a page without them is an error."""
    line = next(line for line in index.LINES if line.page == "stress-all.md")
    page = tmp_path / line.page
    page.write_text("12 of 13 rows are what theory says, 1 are not.\n")
    assert "| 12 of 13 rows agree with theory |" in index.index(tmp_path)
    page.write_text("All rows are what theory says.\n")
    with pytest.raises(ValueError, match=r"stress-all\.md"):
        index.index(tmp_path)


def test_the_committed_page_of_figures_is_what_the_writer_makes() -> None:
    assert (RESULTS / "figures.md").read_text() == figures.page(len(list(points())))
