"""The papers' tables: cells, rows, and the judgement beside each published figure."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks import RESULTS, ROOT
from benchmarks.papers import tables
from benchmarks.papers.cell import (
    ABOVE,
    AGREES,
    OFF,
    Accuracy,
    TableCell,
    bound,
    cell_options,
    command,
    figure_of,
    look_up,
    row_of,
)
from benchmarks.study import read_rows
from ldpsim.cli.main import app

HOME = ROOT / "runs" / "tables"
LEVELS = ["bit_adjacency"]


def test_the_rule_of_agreement() -> None:
    close, wide = Accuracy(70.0, 1.0, 10), Accuracy(66.0, 4.0, 5)
    assert bound(close, Accuracy(71.0, 0.1, 100)) == 1.5  # never less than a point and a half
    assert bound(close, wide) == pytest.approx(3 * np.sqrt(0.1 + 16 / 5))
    apart, few = Accuracy(68.0, 0.5, 10), Accuracy(70.0, 1.0, 5)
    given = [(close, wide, ""), (close, apart, ""), (few, apart, ""), (close, apart, "why"), (apart, close, "why")]
    assert [compared(*one) for one in given] == ["agrees", "+2.0", "+2.0, 5 runs", "above the lower bound (+2.0)",
                                                 "-2.0"]  # fmt: skip


def compared(ours: Accuracy, paper: Accuracy, reason: str) -> str:
    cell = TableCell("T", {}, cell_options("lp-and", "generated", epsilon=6.0), paper, lower_bound=reason)
    return row_of(LEVELS, cell, record_of(ours))["comparison"]


def record_of(ours: Accuracy) -> dict[str, Any]:
    """Return the sections of a result that a row reads."""
    level = {"status": "bounded", "value": 6.0, "delta": 0}
    levels = {"bit_adjacency": level, "relationship": level, "vector": level}
    accuracy = {"test": ours.mean / 100, "std": ours.std / 100, "per_repeat": [0.5] * ours.runs}
    return {"accuracy": accuracy, "privacy": {"holds": levels, "collections": ours.runs}, "config_hash": "abc"}


def test_a_half_width_becomes_a_standard_deviation() -> None:
    row = {"accuracy": "69.3", "std": "1.2", "runs": "10", "spread": "ci95"}
    assert figure_of(row).std == pytest.approx(1.2 * np.sqrt(10) / 1.96, rel=1e-4)
    assert look_up("rgnn", "paper", dataset="cora", eps_x=1, eps_y=1, model="rgnn") == Accuracy(67.5, 3.8, 5)
    assert look_up("rgnn", "paper", dataset="cora", eps_x=7, eps_y=1, model="rgnn") is None


@pytest.mark.parametrize("paper", tables.PAPERS)
def test_every_cell_is_a_run_of_its_own(paper: str, tmp_path: Path) -> None:
    _, cells = tables.cells_of(paper, tmp_path)
    assert len({repr(cell.options) for cell in cells}) == len({cell.key for cell in cells}) == len(cells)
    assert {cell.options.repeats for cell in cells} <= {5, 10}
    assert any(cell.quick for cell in cells)


@pytest.mark.usefixtures("cells_in_this_process")
def test_a_cells_command_is_the_cell_and_a_result_fills_its_row(tmp_path: Path) -> None:
    options = cell_options("lp-and", "generated", clients=40, epsilon=6.0, repeats=2)
    words = shlex.split(command(options))
    assert words[:2] == ["ldpsim", "run"] and "--no-reference" in words
    ended = CliRunner().invoke(app, [*words[1:], "--out", str(tmp_path), "--quiet"])
    assert ended.exit_code == 0, ended.output
    (path,) = tmp_path.glob("*/result.json")
    cell = TableCell("T", {"epsilon": "6"}, options, Accuracy(50.0, 1.0, 10))
    absent = TableCell("T", {"epsilon": "8"}, cell_options("lp-and", "lastfm", epsilon=8.0), absent="features absent")
    tables.run_cells([cell, absent], tmp_path / "home" / "p", workers=1)
    assert not list((tmp_path / "home" / "p").glob("*/state*"))  # the devices are gone, the result is kept
    records = tables.records_of([cell], tmp_path / "home")
    assert records[0] is not None and records[0]["config_hash"] == json.loads(path.read_text())["config_hash"]
    row, gone = tables.write_table(tmp_path / "p.csv", LEVELS, [cell, absent], [*records, None])
    assert row["n"] == "2" and row["ours"] and gone["n"] == "not run: features absent"
    text = (tmp_path / "p.csv").read_text()
    (tmp_path / "p.csv").write_text(text.replace(row["commit"], "0123abcd"))
    row["commit"] = "0123abcd"
    for found in (
        [None, None],
        [*records, None],
    ):  # a cell without a new result keeps its row, and so do the same figures
        again = tables.write_table(tmp_path / "p.csv", LEVELS, [cell, absent], found)
        assert again[0] == {**dict.fromkeys(again[0], ""), **row}


@pytest.mark.parametrize("paper", tables.PAPERS)
def test_the_committed_table_is_what_the_writer_makes(
    paper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)  # the commands of a table are relative to it
    levels, cells = tables.cells_of(paper, HOME)
    (tmp_path / "p.csv").write_bytes((RESULTS / f"{paper}.csv").read_bytes())
    tables.write_table(tmp_path / "p.csv", levels, cells, [None] * len(cells))
    assert (tmp_path / "p.csv").read_bytes() == (RESULTS / f"{paper}.csv").read_bytes()


@pytest.mark.parametrize("paper", tables.PAPERS)
def test_no_committed_cell_is_judged_against_its_own_figures(paper: str) -> None:
    """The word in each row follows from the row's figures, a lower bound has a reason, and the page counts right."""
    _, cells = tables.cells_of(paper, HOME)
    by_key = {cell.key: cell for cell in cells}
    text = (RESULTS / f"{paper}.md").read_text()
    counted = dict.fromkeys((AGREES, ABOVE, OFF), 0)
    for row in read_rows(RESULTS / f"{paper}.csv"):
        if not row["accuracy"] or not row["paper"]:
            continue
        cell = by_key[row["table"], row["command"]]
        if int(row["n"]) < 10:  # is not compared
            assert row["comparison"].endswith(f", {row['n']} runs"), row
            continue
        away = float(row["accuracy"]) - float(row["paper"])
        spread = 3 * np.sqrt(
            float(row["std"]) ** 2 / 10 + float(row["paper_std"] or row["std"]) ** 2 / float(row["paper_runs"])
        )
        word = AGREES if row["comparison"] == AGREES else ABOVE if row["comparison"].startswith(ABOVE) else OFF
        assert (abs(away) <= max(1.5, spread) + 0.02) if word == AGREES else (abs(away) > max(1.5, spread) - 0.02), row
        if word == ABOVE:
            assert away > 1.48 and " ".join(cell.lower_bound.split())[:60] in " ".join(text.split()), row
        counted[word] += not cell.again
    said = re.search(r"(\d+) agree, (\d+) are above a published lower bound and (\d+) are off", text)
    assert said is not None and [*map(int, said.groups())] == [*counted.values()]


def test_a_published_figure_counts_once() -> None:
    """Solitude's figures on CiteSeer stand beside two graphs: 36 counted twice. Other papers have such rows too."""
    cells = [cell for paper in tables.PAPERS for cell in tables.cells_of(paper, HOME)[1] if cell.paper]
    places = [cell.paper.place for cell in cells if cell.paper and not cell.again]
    assert all(places) and len(set(places)) == len(places)
    again = {cell.paper.place for cell in cells if cell.paper and cell.again}
    assert again and again <= set(places)  # no figure is left out
    compared = re.search(r"^Of all (\d+) published figures", (RESULTS / "agreement.md").read_text(), re.MULTILINE)
    assert compared is not None and int(compared[1]) <= len(places)


def test_every_page_of_results_stands_in_the_index_once() -> None:
    pages = sorted(path.name for path in RESULTS.glob("*.md") if path.name != "README.md")
    assert sorted(re.findall(r"^\| \[(.+?\.md)\]", (RESULTS / "README.md").read_text(), re.MULTILINE)) == pages


def test_data_that_are_made_from_others_are_there_before_a_cell_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    for paper in ("rgnn", "lpgnn"):
        monkeypatch.setattr(f"benchmarks.papers.{paper}.prepare", lambda home, paper=paper: done.append(paper))
    monkeypatch.setattr(tables, "run_cells", lambda cells, folder, workers: done.append("run"))
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    monkeypatch.setattr("sys.argv", ["tables", "rgnn", "lpgnn", "--home", str(tmp_path), "--upto", "0"])
    tables.main()
    assert {*done[:2]} == {"rgnn", "lpgnn"} and {*done[2:]} == {"run"}
