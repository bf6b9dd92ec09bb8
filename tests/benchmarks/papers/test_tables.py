from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks import RESULTS, ROOT
from benchmarks.papers import tables
from benchmarks.papers.agreement import ABOVE, AGREES, OFF, Accuracy, bound, figure_of, look_up
from benchmarks.papers.agreement_page import agreement
from benchmarks.papers.cell_row import KEYS, CellRow, columns_of, counts, key_of, row_of
from benchmarks.papers.curves import FIGURES, points
from benchmarks.papers.pages import compared, markdown
from benchmarks.papers.rgnn import BLOCK, prepare
from benchmarks.papers.swept import Swept, _digests
from benchmarks.papers.table_cell import Page, TableCell, cell_options, command
from benchmarks.study import Results, Study, read_rows
from ldpsim.cli.main import app
from ldpsim.devices import datasets

HOME = ROOT / "runs" / "tables"


def test_the_rule_of_agreement() -> None:
    close, wide = Accuracy(70.0, 1.0, 10), Accuracy(66.0, 4.0, 5)
    assert bound(close, Accuracy(71.0, 0.1, 100)) == 1.5  # never less than a point and a half
    assert bound(close, wide) == pytest.approx(3 * np.sqrt(0.1 + 16 / 5))
    apart, few = Accuracy(68.0, 0.5, 10), Accuracy(70.0, 1.0, 5)
    given = [(close, wide, ""), (close, apart, ""), (few, apart, ""), (close, apart, "why"), (apart, close, "why"),
             (close, wide, "why"), (close, None, "why")]  # fmt: skip
    results = [beside(*one) for one in given]
    assert [compared(*result) for result in results] == [
        "agrees", "**+2.0**", "+2.0, 5 runs", "above the lower bound (+2.0)", "**-2.0**", "agrees", "-"
    ]  # fmt: skip
    assert counts(results) == {AGREES: 2, ABOVE: 1, OFF: 2}


def beside(ours: Accuracy, paper: Accuracy | None, reason: str) -> CellRow:
    """Return a cell and its row beside a published figure, with the reason why that is a lower bound."""
    options = cell_options("lp-and", "generated", epsilon=6.0)
    cell = TableCell("T", {"epsilon": "6"}, options, paper, lower_bound=reason)
    return cell, row_of(PAGE, cell, record_of(ours))


PAGE = Page("A page", "Head.", ["bit_adjacency"])


def record_of(ours: Accuracy) -> dict[str, Any]:
    """Return the sections of a result that a row reads."""
    level = {"status": "bounded", "value": 6.0, "delta": 0}
    levels = {"bit_adjacency": level, "relationship": level, "vector": level}
    accuracy = {"test": ours.mean / 100, "std": ours.std / 100, "per_repeat": [0.5] * ours.runs}
    return {"accuracy": accuracy, "privacy": {"holds": levels, "collections": ours.runs}, "config_hash": "abc"}


@dataclass
class Given:
    """Results that are given: accuracies by epsilon."""

    accuracies: dict[str, Accuracy]

    def run(self, cells: Sequence[TableCell], *, workers: int, until: float) -> None: ...

    def found(self, cells: Sequence[TableCell]) -> list[dict[str, Any] | None]:
        ours = [self.accuracies.get(cell.keys["epsilon"]) for cell in cells]
        return [None if one is None else record_of(one) for one in ours]


def study(cells: list[TableCell], results: Results) -> Study:
    return Study("p", cells, results, KEYS, key_of, lambda cell, record: [row_of(PAGE, cell, record)],
                 lambda found: markdown("p", PAGE, tables.cell_rows(found)), columns_of(PAGE, cells))  # fmt: skip


def test_a_half_width_becomes_a_standard_deviation() -> None:
    row = {"accuracy": "69.3", "std": "1.2", "runs": "10", "spread": "ci95"}
    assert figure_of(row).std == pytest.approx(1.2 * np.sqrt(10) / 1.96, rel=1e-4)
    found = look_up("rgnn", "paper", dataset="cora", eps_x=1, eps_y=1, model="rgnn")
    assert found == Accuracy(67.5, 3.8, 5)
    assert look_up("rgnn", "paper", dataset="cora", eps_x=7, eps_y=1, model="rgnn") is None


@pytest.mark.parametrize("paper", tables.PAPERS)
def test_every_cell_is_a_run_of_its_own_and_says_how_to_run_it(paper: str, tmp_path: Path) -> None:
    module = __import__(f"benchmarks.papers.{paper}", fromlist=["cells"])
    cells = list(module.cells(tmp_path))
    assert len({repr(cell.options) for cell in cells}) == len(cells)
    assert len({(cell.table, tuple(cell.keys.items())) for cell in cells}) == len(cells)
    assert {cell.options.repeats for cell in cells} == {10}
    assert any(cell.quick for cell in cells)
    assert sum(cell.paper is not None for cell in cells) > len(cells) / 4


def test_every_point_of_a_figure_is_a_run_of_its_own() -> None:
    names = {figure.name for figure in FIGURES}
    found = list(points())
    assert {cell.table for cell in found} == names
    keys = [(cell.table, *cell.keys.values()) for cell in found]
    assert len(set(keys)) == len(keys)


def test_a_cells_command_is_the_cell(tmp_path: Path) -> None:
    options = cell_options("lp-and", "generated", clients=40, epsilon=6.0, repeats=2)
    words = shlex.split(command(options))
    assert words[:2] == ["ldpsim", "run"] and "--no-reference" in words
    ended = CliRunner().invoke(app, [*words[1:], "--out", str(tmp_path), "--quiet"])
    assert ended.exit_code == 0, ended.output
    (found,) = tmp_path.glob("*/result.json")
    cell = TableCell("a table", {"epsilon": "6"}, options)
    (digest,) = _digests([cell])
    assert json.loads(found.read_text())["config_hash"] == digest


def test_a_page_is_made_of_the_cells_that_are_there(tmp_path: Path) -> None:
    there = TableCell("T", {"epsilon": "6"}, cell_options("lp-and", "generated", clients=40, epsilon=6.0, repeats=2),
                  Accuracy(50.0, 1.0, 10))  # fmt: skip
    missing = TableCell("T", {"epsilon": "7"}, cell_options("lp-and", "generated", clients=40, epsilon=7.0, repeats=2))
    absent = TableCell("T", {"epsilon": "8"}, cell_options("lp-and", "lastfm", epsilon=8.0), absent="features absent")
    Swept(tmp_path / "p").run([there], workers=1)
    assert not list((tmp_path / "p").glob("*/state*"))  # the devices are gone, the result is kept
    of_all = study([there, missing, absent], Swept(tmp_path / "p"))
    found = of_all.found(tmp_path)
    assert [bool(row["ours"]) for _, (row,) in found] == [True, False, False] and found[0][1][0]["n"] == "2"
    of_all.write(found, tmp_path)
    text, table = (tmp_path / "p.md").read_text(), (tmp_path / "p.csv").read_text().splitlines()
    assert "1 of 3 cells were run" in text and "| T | 3 | 1 | 0 | 0 | 0 | 0 | 0 | - |" in text
    assert "\n1 of them were not run here" in text and "\n1 cannot run: the features" in text
    assert "not run here" in table[2] and re.search("not run: features absent.*--dataset lastfm", table[3])
    assert len(table) == 4 and table[1].split(",")[1] == "6"


def test_kept_results_are_written_again_as_they_are(tmp_path: Path) -> None:
    """A page without new runs keeps every figure; a new run replaces the kept one."""
    cells = [
        TableCell("T", {"epsilon": f"{x:g}"}, cell_options("lp-and", "generated", epsilon=x), Accuracy(50.0, 1.0, 10))
        for x in (6.0, 7.0)
    ]

    def write(cells: list[TableCell], **accuracies: float) -> list[bytes]:
        given = Given({epsilon.strip("_"): Accuracy(mean, 1.449, 10) for epsilon, mean in accuracies.items()})
        of_all = study(cells, given)
        of_all.write(of_all.found(tmp_path), tmp_path)
        return [(tmp_path / name).read_bytes() for name in ("p.md", "p.csv")]

    # 60.349 is printed as 60.3; rounded to the table's 60.35 and then once more, it would become 60.4
    before = write(cells, _6=60.349, _7=61.349)
    assert write(cells) == before and b"| 6 | 60.3" in before[0]
    write(cells, _6=70.0)
    text = (tmp_path / "p.md").read_text()
    assert "| 6 | 70.0 ± 1.4 (10) |" in text and "| 7 | 61.3 ± 1.4 (10) |" in text and "60.3" not in text
    other_command = replace(cells[1], options=replace(cells[1].options, seed=5))
    ((_, (lost,)),) = study([other_command], Given({})).found(tmp_path)
    assert not lost["ours"]  # a result belongs to the run that its command names


@pytest.mark.parametrize("paper", tables.PAPERS)
def test_no_committed_cell_is_judged_against_its_own_figures(paper: str) -> None:
    """The word in each row of a table follows from the row's figures; a lower bound needs a reason on the page."""
    _, cells = tables.cells_of(paper, HOME)
    reasons = {(cell.table, *cell.keys.values()): cell.lower_bound for cell in cells}
    counted = {key_of(cell) for cell in cells if not cell.again}
    text = (RESULTS / f"{paper}.md").read_text()
    found = dict.fromkeys((AGREES, ABOVE, OFF), 0)
    for row in read_rows(RESULTS / f"{paper}.csv"):
        if not row["accuracy"] or not row["paper"]:
            continue
        away = float(row["accuracy"]) - float(row["paper"])
        spread = 3 * np.sqrt(float(row["std"]) ** 2 / 10 + float(row["paper_std"]) ** 2 / float(row["paper_runs"]))
        within = abs(away) <= max(1.5, spread) + 0.02  # figures of two decimals
        counts_here = (row["table"], row["command"]) in counted
        if row["comparison"] == AGREES:
            assert within, row
            found[AGREES] += counts_here
        elif row["comparison"].startswith(ABOVE):
            names = [name for name in row if name in cells[0].keys]
            reason = reasons[(row["table"], *(row[name] for name in names))]
            assert away > 1.48 and reason and " ".join(reason.split())[:60] in " ".join(text.split()), row
            found[ABOVE] += counts_here
        else:
            assert abs(away) > max(1.5, spread) - 0.02, row
            found[OFF] += counts_here
    said = re.search(r"(\d+) agree, (\d+) are above a published lower bound and (\d+) are off", text)
    assert said is not None and [*map(int, said.groups())] == [*found.values()]


def test_a_published_figure_counts_once() -> None:
    """Solitude's figures on CiteSeer stand beside two graphs: 36 counted twice. Other papers have such rows too."""
    cells = [cell for paper in tables.PAPERS for cell in tables.cells_of(paper, HOME)[1] if cell.paper]
    places = [cell.paper.place for cell in cells if cell.paper and not cell.again]
    assert all(places) and len(set(places)) == len(places)
    again = {cell.paper.place for cell in cells if cell.paper and cell.again}
    assert again and again <= set(places)  # no figure is left out
    text = (RESULTS / "agreement.md").read_text()
    compared = re.search(r"^Of all (\d+) published figures", text, re.MULTILINE)
    assert compared is not None and int(compared[1]) <= len(places)


def test_the_page_of_the_agreement_counts_all_cells_and_says_how_some_were_chosen() -> None:
    close, far = Accuracy(68.5, 0.5, 10), Accuracy(60.0, 0.5, 10)
    every = [beside(Accuracy(70.0, 1.0, 10), paper, "") for paper in (close, far, far)]
    every = [(replace(cell, keys={"epsilon": f"{i}"}, level=min(i, 1)), row) for i, (cell, row) in enumerate(every)]
    text = agreement({"p": every})
    assert "| [p.md](p.md) | 3 | 3 | 3 | 1 | 0 | 2 | 0 |" in text and "| all | 3 | 3 | 3 | 1 | 0 | 2 | 0 |" in text
    assert "These 1 of 3 cells were chosen by hand" in text and "| p | epsilon 0 | 70.0 ± 1.0 (10) |" in text
    assert "epsilon 1" not in text
    twice = [every[0], (replace(every[1][0], again=True), every[1][1]), every[2]]
    text = agreement({"p": twice})
    assert "| all | 3 | 3 | 2 | 1 | 0 | 1 | 1 |" in text and "A figure counts once.\n1 more cells" in text


def test_grouped_copies_are_ors_of_blocks(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LDPSIM_DATA", str(data_dir))
    monkeypatch.setattr("benchmarks.papers.rgnn.BLOCK", {"cora": BLOCK["cora"]})
    prepare(tmp_path)
    people, grouped = datasets.load("cora"), datasets.load(str(tmp_path / "cora-25.npz"))
    assert (len(grouped), grouped.facts.d, grouped.facts.classes) == (2708, 58, 7)
    np.testing.assert_array_equal(grouped.edges, people.edges)
    node = 17
    ones = people.feature_indices[people.feature_indptr[node] : people.feature_indptr[node + 1]]
    kept = grouped.feature_indices[grouped.feature_indptr[node] : grouped.feature_indptr[node + 1]]
    assert sorted(set(ones // 25)) == kept.tolist()
