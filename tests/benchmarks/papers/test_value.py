from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.papers import swept, tables, value
from benchmarks.papers.swept import Swept
from benchmarks.papers.table_cell import TableCell, cell_options
from benchmarks.papers.value_row import ATTRIBUTES
from benchmarks.study import read_rows
from strategies.experiments.sweep import SweepResult
from strategies.experiments.sweep_file import Cell
from strategies.progress import Progress
from strategies.runs.simulate import simulate


def test_step_one_has_every_paper_data_set_and_budget(tmp_path: Path) -> None:
    every = value.value_cells(tmp_path)
    assert {one.page for one in every} == set(tables.PAPERS)
    assert all(one.options.nulls and not one.options.reference for one in every)
    assert {one.options.repeats for one in every} == {10}
    assert len({repr(one.options) for one in every}) == len(every)

    def covered(step: int) -> set[tuple[str, str, str]]:
        names = ("data set", "epsilon", "eps_a", "eps_y", "model")
        return {(one.page, name, one.keys[name]) for one in every if one.step <= step
                for name in names if name in one.keys}  # fmt: skip

    assert covered(3) - covered(1) == {
        ("lpgnn", "data set", "github"),
        ("lpgnn", "eps_y", "0.5"),
        ("lpgnn", "eps_y", "inf"),
    }


def test_a_run_with_null_models_becomes_a_row_and_is_kept(tmp_path: Path) -> None:
    """The row's accuracy is that of the same run without null models."""
    keys = {"data set": "generated", "network": "gcn", "epsilon": "6", "model": "hogs"}
    options = cell_options("hogs", "generated", clients=60, epsilon=6.0, repeats=2, settings={"epochs": 10})
    cells = [value.ValueCell("T", keys, replace(options, nulls=True, seed=seed), page="hogs") for seed in (0, 3)]
    without = simulate(options).record
    of_these = replace(value.study(tmp_path), cells=cells, draw=lambda rows, path: None)
    folder = tmp_path / "cells"
    simulate(replace(options, nulls=True, out=folder))
    simulate(replace(options, seed=3, out=folder))  # without null models: no row
    found = of_these.found(tmp_path)
    ((_, (row,)), (_, none)) = found
    assert not none and "- [hogs.md](hogs.md), T, generated, gcn: epsilon 6" in value.page_of(found)
    assert row["config_hash"] == without["config_hash"]
    assert row["accuracy"] == f"{100 * without['accuracy']['test']:.2f}"
    assert {name for name in ATTRIBUTES if row[f"bought_{name}"]} == {"features", "adjacency", "all"}
    of_these.write(found, tmp_path)
    assert read_rows(tmp_path / "value.csv") == [row]
    elsewhere = replace(of_these, results=Swept(tmp_path / "elsewhere" / "cells"))
    assert elsewhere.found(tmp_path) == found  # a kept row


def test_the_time_limit_ends_the_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [TableCell("T", {"seed": str(seed)}, cell_options("lp-and", "generated", clients=40, seed=seed))
             for seed in range(3)]  # fmt: skip
    ended = []

    def sweep(runs: Sequence[Cell], folder: Path, *, workers: int, progress: Progress) -> SweepResult:
        progress("checking", 1.0)
        for count in range(len(runs) + 1):
            ended.append(count)
            progress("cells", count / len(runs))
        return SweepResult((), folder, folder, None, 0)

    monkeypatch.setattr(swept, "run_sweep", sweep)
    Swept(tmp_path / "p").run(cells, workers=1, until=time.monotonic())
    assert ended == [0]
    Swept(tmp_path / "p").run([*cells, cells[0]], workers=1)  # one run for two cells of one hash
    assert ended == [0, 0, 1, 2, 3]
