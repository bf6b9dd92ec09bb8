"""Results in a notebook: what stands in them, escaped, small and with nothing to load."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.graph import Graph
from ldpsim.strategies import RunOptions, RunResult, simulate
from ldpsim.strategies.experiments.compare import Comparison
from ldpsim.strategies.experiments.failures import Failed
from ldpsim.strategies.outputs.graph import ResultGraph
from ldpsim.strategies.outputs.html import html_table
from ldpsim.strategies.results.in_words import privacy_in_words

VOID = {"br"}
ALLOWED = {"table", "caption", "thead", "tbody", "tr", "th", "td", "br"}


class Reader(HTMLParser):
    """Checks that tags are balanced and only of a table; keeps the text of each cell."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED and {name for name, _ in attrs} <= {"scope", "style"}
        if tag not in VOID:
            self.open.append(tag)
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.cells[-1] += data.replace("\xa0", " ")


@pytest.fixture(scope="module")
def result() -> RunResult:
    return simulate(RunOptions(clients=60, settings={"epochs": "2"}, out=None))


def test_a_result_says_verdict_accuracy_privacy_and_cost(result: RunResult) -> None:
    text = result._repr_html_()
    cells = Reader(text).cells
    assert cells[0:2] == ["", "hogs on generated"] and len(text) < 4000
    assert result.record["verdict"]["text"] in cells
    everything = "".join(cells)
    assert f"{100 * result.record['accuracy']['test']:.1f} % of the test people are right" in everything
    assert "chance: " in everything and "without noise: " in everything and "1 round" in everything
    assert all(finding.text in everything for finding in privacy_in_words(result.record))


def test_a_comparison_has_a_row_a_method_and_its_failures(result: RunResult) -> None:
    made = Comparison(Path("x"), Path("x/table.csv"), [result.record] * 2, ["a", "b"],
                      [("blink", Failed("needs <public> features"))], None, 0)  # fmt: skip
    text = made._repr_html_()
    cells = Reader(text).cells
    assert "2 methods on the same people" in cells and cells.count("hogs") == 2 and "failed" in cells
    assert "needs &lt;public&gt; features" in text and "needs <public> features" in cells


def test_a_graph_says_its_sizes(result: RunResult) -> None:
    cells = Reader(result.graph._repr_html_()).cells
    assert f"{result.graph.edges.shape[1]:,} undirected" in cells
    assert result.record["devices"]["reports_sha256"] in cells


def test_everything_is_escaped(result: RunResult) -> None:
    evil = "<script>alert(1)</script>"
    record: dict[str, Any] = {**result.record, "method": evil, "dataset": {**result.record["dataset"], "name": evil},
                              "verdict": {**result.record["verdict"], "text": evil}}  # fmt: skip
    graph = ResultGraph(Graph(np.ones((1, 1), np.float32), np.zeros((2, 0), np.int64), None, np.zeros(1, np.int64),
                              np.array([0]), np.array([0])), np.zeros(1, np.int64), np.array([0]), 2,
                        {"method": evil, "dataset": evil})  # fmt: skip
    for text in (RunResult(record, Path(evil))._repr_html_(), graph._repr_html_(), html_table(evil, [(evil, evil)])):
        assert "<script" not in text
        assert evil in "".join(Reader(text).cells)
