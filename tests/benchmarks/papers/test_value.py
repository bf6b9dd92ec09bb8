from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.papers import tables, value
from benchmarks.papers.table_cell import TableCell, cell_options
from benchmarks.papers.value_row import ATTRIBUTES, read_rows
from strategies.experiments.sweep import SweepResult
from strategies.experiments.sweep_file import Cell
from strategies.progress import Progress
from strategies.runs.simulate import simulate


def test_step_one_has_every_paper_data_set_and_budget(tmp_path: Path) -> None:
    every = value.value_cells(tmp_path)
    assert {one.page for one in every} == set(tables.PAPERS)
    assert all(one.cell.options.nulls and not one.cell.options.reference for one in every)
    assert {one.cell.options.repeats for one in every} == {10}
    assert len({repr(one.cell.options) for one in every}) == len(every)
    assert [(one.step, one.seconds) for one in every] == sorted((one.step, one.seconds) for one in every)

    def covered(step: int) -> set[tuple[str, str, str]]:
        names = ("data set", "epsilon", "eps_a", "eps_y", "model")
        return {(one.page, name, one.cell.keys[name]) for one in every if one.step <= step
                for name in names if name in one.cell.keys}  # fmt: skip

    assert covered(3) - covered(1) == {
        ("lpgnn", "data set", "github"),
        ("lpgnn", "eps_y", "0.5"),
        ("lpgnn", "eps_y", "inf"),
    }
    assert "step 1" in value.plan(every) and "step 3" in value.plan(every)


def test_a_run_with_null_models_becomes_a_row_and_is_kept(tmp_path: Path) -> None:
    """The row's accuracy is that of the same run without null models."""
    keys = {"data set": "generated", "network": "gcn", "epsilon": "6", "model": "hogs"}
    options = cell_options("hogs", "generated", clients=60, epsilon=6.0, repeats=2, settings={"epochs": 10})
    one, another = (value.ValueCell("hogs", TableCell("T", keys, replace(options, nulls=True, seed=seed)), 1)
                    for seed in (0, 3))  # fmt: skip
    without = simulate(options).record
    simulate(replace(options, nulls=True, out=tmp_path / value.CELLS))
    simulate(replace(options, seed=3, out=tmp_path / value.CELLS))  # without null models: no row
    rows, missing = value.rows_of([one, another], tmp_path, tmp_path)
    assert missing == [("[hogs.md](hogs.md), T, generated, gcn", "epsilon 6")]
    assert [row["config_hash"] for row in rows] == [without["config_hash"]]
    assert rows[0]["accuracy"] == f"{100 * without['accuracy']['test']:.2f}"
    assert {name for name in ATTRIBUTES if rows[0][f"bought_{name}"]} == {"features", "adjacency", "all"}
    value.write(rows, missing, tmp_path)
    assert read_rows(tmp_path / "value.csv") == rows
    assert value.rows_of([one], tmp_path / "elsewhere", tmp_path) == (rows, [])  # a kept row


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

    monkeypatch.setattr(tables, "run_sweep", sweep)
    with pytest.raises(tables.TimeIsUp):
        tables.run_cells("p", cells, tmp_path, workers=1, until=time.monotonic())
    assert ended == [0]
    tables.run_cells("p", cells, tmp_path, workers=1)
    assert ended == [0, 0, 1, 2, 3]
