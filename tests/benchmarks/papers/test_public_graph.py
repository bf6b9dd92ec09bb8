"""Cells and pages of UPGNet and PrivGE.

It covers ``benchmarks.papers.public_graph_page`` too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.papers.index import LINES, headline
from benchmarks.papers.public_graph import METHODS, NULLS, ORACLE, cells, study_of
from benchmarks.papers.swept import Swept
from benchmarks.papers.table_cell import TableCell, command

NUMBERS = {"test": 0.84, "std": 0.01, "per_repeat": [0.84] * 10}
GAIN = {"value": 0.01, "low": 0.004, "high": 0.016}


def record_of(cell: TableCell) -> dict:
    """A result with null models, as a run writes it."""
    nulls = {"chance": {"test": 0.3}, "graph_alone": NUMBERS, "features_alone": None, "shuffled": {"features": NUMBERS}}
    verdict = {"above_chance": True, "above_nulls": True, "bought": {"features": GAIN}, "margin": GAIN, "text": "t"}
    return {"accuracy": NUMBERS, "nulls": nulls if cell.options.nulls else None, "verdict": verdict,
            "config_hash": "abc", "seconds": {}}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_every_figure_of_the_oracle_with_a_cell_is_found(method: str) -> None:
    found = list(cells(method))
    assert all((cell.measured is not None) == (cell.table == ORACLE) for cell in found)
    assert len({command(cell.options) for cell in found}) == len(found)
    assert {cell.keys["data set"] for cell in found if cell.table == NULLS} == {
        "cora", "citeseer", "pubmed", "facebook", "github",
    }  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_a_page_is_written_and_its_table_read_back(method: str, tmp_path: Path) -> None:
    class Given(Swept):
        def found(self, cells: Sequence[TableCell]) -> list:
            return [record_of(cell) for cell in cells[:-1]] + [None]

    of_method = replace(study_of(method, tmp_path), results=Given(tmp_path))
    found = of_method.found(tmp_path)
    of_method.write(found, tmp_path)
    text = (tmp_path / f"{method}.md").read_text()
    assert "private features add +1.0 ± 0.6 points at epsilon 0.1; +1.0" in text.replace("\n  ", " ")
    assert "+1.0 ± 0.6 points at epsilon inf: measurable at epsilon 0.1, epsilon 1" in text.replace("\n  ", " ")
    assert "1 cells were not run, for lack of time:" in text and "agrees (" in text
    (line,) = (line for line in LINES if line.page == f"{method}.md")
    assert headline(line, text).endswith("24 of 24 cells are above every null model")
    assert study_of(method, tmp_path / "elsewhere").found(tmp_path) == found
