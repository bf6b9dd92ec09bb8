"""Every committed page of a study is what its writer makes of the committed rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks import RESULTS, ROOT
from benchmarks.papers import public_graph, tables, tables_privgnn
from benchmarks.papers.agreement_page import NAME, agreement
from benchmarks.study import Study

HOME = ROOT / "runs" / "tables"  # the commands of a paper's table name data below it


class Nothing:
    """No result: what is written comes from the kept rows."""

    def run(self, cells: Sequence[Any], *, workers: int, until: float) -> None: ...

    def found(self, cells: Sequence[Any]) -> list[None]:
        return [None] * len(cells)


# Name of the module, or of the method or paper -> maker. Nothing is made before its test runs: cells take a second.
STUDIES: dict[str, Callable[[], Study]] = {
    "tables_privgnn": partial(tables_privgnn.study, HOME),
    **{f"public_graph {method}": partial(public_graph.study_of, method, HOME) for method in public_graph.METHODS},
    **{paper: partial(tables.study_of, paper, HOME) for paper in tables.PAPERS},
}  # fmt: skip


@pytest.mark.parametrize("name", STUDIES)
def test_the_committed_page_and_table_are_what_the_writer_makes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)  # those commands are relative to it
    study = STUDIES[name]()
    kept = replace(study, results=Nothing(), picture="")
    kept.write(kept.found(), tmp_path)
    for name in (f"{study.name}.md", f"{study.name}.csv"):
        assert (tmp_path / name).read_bytes() == (RESULTS / name).read_bytes(), name


def test_the_committed_page_of_the_agreement_is_what_the_writer_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    papers = [replace(tables.study_of(paper, HOME), results=Nothing()) for paper in tables.PAPERS]
    assert (RESULTS / NAME).read_text() == agreement({paper.name: tables.cell_rows(paper.found()) for paper in papers})
