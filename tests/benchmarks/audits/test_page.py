"""Page of the audits of other libraries."""

from __future__ import annotations

from benchmarks.audits import page


def test_the_committed_page_is_what_the_writer_makes() -> None:
    assert page.PAGE.read_text() == page.page()
