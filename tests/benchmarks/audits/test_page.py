"""Page of the audits of other libraries."""

from __future__ import annotations

from benchmarks.audits import page


def test_the_committed_page_is_what_the_writer_makes() -> None:
    assert page.PAGE.read_text() == page.page()


def test_verdicts() -> None:
    row = {"passed": "True", "law": ""}
    assert page.verdict(row) == "not contradicted"
    assert page.verdict({**row, "law": "fits"}) == "definition holds, draws fit it"
    assert page.verdict({**row, "passed": "False"}) == "**above the claim**"
    assert page.verdict({**row, "law": "of 0, 1 was drawn"}) == "**draws contradict the definition**"
