"""Sweeps: cells, tables, and what is run again."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ldpsim.devices.atomic_files import exclusive_lock
from ldpsim.strategies import RunOptions
from ldpsim.strategies.engines.pool import WorkerDied
from ldpsim.strategies.experiments import sweep
from ldpsim.strategies.experiments.cells import Failed, failure
from ldpsim.strategies.experiments.sweep import run_sweep
from ldpsim.strategies.experiments.sweep_file import Cell, read_sweep

FIXED = "[fixed]\nclients = 60\nreference = false\nnulls = false\ndevice = 'cpu'\nsettings.epochs = 3\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "grid.toml"
    path.write_text(text)
    return path


def rows_of(table: Path) -> list[dict[str, str]]:
    with table.open() as file:
        return list(csv.DictReader(file))


# ---- the file ------------------------------------------------------------------------


def test_cells_come_in_the_order_of_the_options_whatever_the_file_says(tmp_path: Path) -> None:
    cells = read_sweep(
        written(
            tmp_path,
            FIXED
            + "[grid]\nseed = [1, 0]\nepsilon = [3, 4.5]\nsettings.tau = [0.5, 0.7]\nmethod = ['hogs', 'raw']\n"
            + "[[cells]]\nmethod = 'mlp'\nrepeats = 2\n"
            + "[[cells]]\nseeds.noise = 'os'\ncaps.user = 5\npublic-features = true\n",
        )
    )
    assert len(cells) == 12
    first, second, last = cells[0].options, cells[1].options, cells[11].options
    assert (first.method, first.epsilon, dict(first.settings), first.seed) == (
        "hogs", 3.0, {"epochs": "3", "tau": "0.5"}, 1,
    )  # fmt: skip
    assert (second.seed, second.settings["tau"]) == (0, "0.5")
    assert cells[2].options.settings["tau"] == "0.7"
    assert cells[0].label == "method=hogs, epsilon=3, settings.tau=0.5, seed=1"
    # raw reads neither epsilon nor tau: its eight cells are one of each seed
    assert [cell.label for cell in cells[8:10]] == ["method=raw, seed=1", "method=raw, seed=0"]
    assert [cell.options.method for cell in cells[:10]] == ["hogs"] * 8 + ["raw"] * 2
    assert (cells[10].options.method, cells[10].options.repeats, cells[10].options.clients) == ("mlp", 2, 60)
    assert (last.seeds, last.caps, last.public_features) == ({"noise": None}, {"user": 5.0}, True)
    assert all(cell.options.out is None and cell.options.engine == "local" for cell in cells)


def test_the_end_of_a_data_sets_name_is_read_in_any_case() -> None:
    assert [cell.options.dataset for cell in read_sweep(None, {"dataset": ["a.NPZ", "b.pt"]})] == ["a.NPZ", "b.pt"]
    with pytest.raises(ValueError, match="unknown dataset 'a.csv'"):
        read_sweep(None, {"dataset": ["a.csv"]})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[grid]\nepsilom = [3]", r"\[grid\] epsilom: .*did you mean epsilon"),
        ("[grid]\nepsilon = ['much']", r"\[grid\] epsilon = much: must be a number"),
        ("[grid]\nseed = [-1]", "seed=-1: --seed -1: must be 0 or more"),
        ("[grid]\npublic_features = [1]", "public_features = 1: must be true or false"),
        ("[grid]\nepsilon = 3", r"\[grid\] epsilon = 3: must be a list"),
        ("[fixed]\nepsilon = 3", "nothing to run"),
        ("[fixed]\nseed = 1\n[grid]\nseed = [1]", r"seed: is in \[fixed\] too"),
        ("[grid]\nseed = [1, 2, 1]", "twice .*seed=1 and seed=1"),
        ("[grid]\nstate = ['here']", "state: .*people of its own"),
        ("[fixed]\nengine = 'ray'\n[grid]\nseed = [1]", "engine: belongs on the command line, --engine"),
        (
            "[grid]\nsettings.tua = [0.5]",
            "settings.tua: no cell reads it .hogs has no such .* did you mean tau",
        ),
        ("[grid]\nmethod = ['raw', 'mlp']\nepsilon = [3]", "epsilon: no cell reads it .raw is not private"),
        ("[grid]\nseed = [1]\n[[cells]]\nmethod = 'raw'\nepsilon = 3", "epsilon=3: epsilon: raw is not private"),
        ("[grid]\nsettings = [1]", r"settings: is a table, write settings.KEY"),
        ("[grid]\nsettings.tau = [[1]]", r"settings.tau = \[1\]: must be one"),
        ("[grid]\ncaps.edge = [1]", "caps.edge=1: --cap edge=1: the level must be one of"),
        ("[cells]\nseed = 1", r"\[cells\]: write \[\[cells\]\]"),
    ],
)
def test_a_bad_file_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match=said) as error:
        read_sweep(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_parameters_have_the_names_of_their_papers() -> None:
    (cell,) = read_sweep(None, {"method": ["privgnn"], "settings.lambda": [0.2]})
    assert cell == read_sweep(None, {"method": ["privgnn"], "settings.lambda_": [0.2]})[0]
    assert cell.options.settings == {"lambda_": "0.2"} and cell.label == "method=privgnn, settings.lambda=0.2"
    with pytest.raises(ValueError, match=r"settings\.lambda=.* it has a value already"):
        read_sweep(None, {"settings.lambda": [0.2], "settings.lambda_": [0.3]})


# ---- running -------------------------------------------------------------------------


@pytest.mark.usefixtures("cells_in_this_process")
def test_finished_cells_are_not_run_again_and_the_table_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = read_sweep(written(tmp_path, FIXED + "[grid]\nmethod = ['hogs', 'raw']\nseed = [0, 1]"))
    folder = tmp_path / "sweep"
    steps: list[tuple[str, float | None]] = []
    first = run_sweep(cells, folder, progress=lambda *step: steps.append(step))
    assert steps[0] == ("checking", 0.0) and steps[-1] == ("cells", 1.0)
    assert (first.found, list(first.failures)) == (0, [])
    table = first.table.read_bytes()
    rows = rows_of(first.table)
    assert [(row["method"], row["seed"], row["status"]) for row in rows] == [
        ("hogs", "0", "done"), ("hogs", "1", "done"), ("raw", "0", "done"), ("raw", "1", "done"),
    ]  # fmt: skip
    for row in rows:
        record = json.loads((folder / row["folder"] / "result.json").read_text())
        assert row["config_hash"] == record["config_hash"]
        assert float(row["test"]) == record["accuracy"]["test"]
        assert int(row["uplink_bytes"]) == record["communication"]["uplink_bytes"]
        assert row["holds_user_status"] == record["privacy"]["holds"]["user"]["status"]
        assert int(row["noise_seed"]) == record["seeds"]["noise"]
    assert float(rows[0]["holds_relationship"]) == pytest.approx(14.4)
    assert rows[2]["holds_relationship"] == "" and rows[2]["holds_relationship_status"] == "unprotected"

    ran: list[RunOptions] = []
    monkeypatch.setattr(sweep, "run_cell", lambda cell: ran.append(cell.options) or Failed("ran"))
    again = run_sweep(cells, folder)
    assert (ran, again.found) == ([], 4)
    assert again.table.read_bytes() == table

    # One more seed, in the middle: what was there stays, and only the new cells run.
    more = read_sweep(written(tmp_path, FIXED + "[grid]\nmethod = ['hogs', 'raw']\nseed = [0, 2, 1]"))
    third = run_sweep(more, folder)
    assert [options.seed for options in ran] == [2, 2]
    assert [row["status"] for row in third.rows] == ["done", "failed", "done"] * 2
    shutil.rmtree(folder / rows[0]["folder"])
    ran.clear()
    run_sweep(cells, folder)
    assert [(options.method, options.seed) for options in ran] == [("hogs", 0)]


@pytest.mark.usefixtures("cells_in_this_process")
def test_a_failed_cell_is_recorded_and_the_rest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = read_sweep(
        written(tmp_path, FIXED + "[grid]\nmethod = ['rgnn', 'hogs']\nsettings.C = [100000]\n[[cells]]\nseed = 1\n")
    )
    from ldpsim.strategies.runs import simulate as simulation

    simulate = simulation.simulate

    def breaking(options: RunOptions, **more: Any) -> Any:
        if options.seed == 1:
            raise RuntimeError("it\nbroke")
        return simulate(options, **more)

    monkeypatch.setattr(simulation, "simulate", breaking)
    result = run_sweep(cells, tmp_path / "sweep")
    rows = rows_of(result.table)
    assert [row["status"] for row in rows] == ["failed", "done", "failed"]
    assert "--set C=100000: 60 nodes cannot be cut" in rows[0]["error"]
    assert rows[2]["error"] == "RuntimeError: it broke"
    assert rows[2]["config_hash"] and not rows[0]["config_hash"]
    assert (rows[0]["method"], rows[0]["test"], rows[0]["param_C"]) == ("rgnn", "", "100000")
    assert failure(WorkerDied()) == Failed("its process died (out of memory, or killed)")
    (_, known), (label, unknown) = result.failures
    assert label == "seed=1"
    assert known.trace is None and unknown.trace is not None and "it" in unknown.trace
    # Failed cells are tried again; this time nothing stands in the way of the last one.
    monkeypatch.setattr(simulation, "simulate", simulate)
    again = run_sweep(cells, tmp_path / "sweep")
    assert [row["status"] for row in again.rows] == ["failed", "done", "done"]
    assert again.found == 1


@pytest.mark.usefixtures("cells_in_this_process")
def test_two_sweeps_do_not_share_a_folder(tmp_path: Path) -> None:
    cells = [Cell(RunOptions(clients=60, settings={"epochs": "3"}, out=None), "a")]
    (tmp_path / "sweep").mkdir()
    with exclusive_lock(tmp_path / "sweep", wait=False), pytest.raises(ValueError, match="another sweep or comparison"):
        run_sweep(cells, tmp_path / "sweep")
    assert list((tmp_path / "sweep").iterdir()) == []


@pytest.mark.usefixtures("cells_in_this_process")
@pytest.mark.parametrize("part", ["reference", "nulls"])
def test_a_result_without_a_part_does_not_do_where_it_is_asked_for(part: str, tmp_path: Path) -> None:
    options = RunOptions(clients=60, settings={"epochs": "3"}, reference=False, nulls=False, out=None)
    folder = tmp_path / "sweep"
    run_sweep([Cell(options, "a")], folder)
    wanted = [Cell(replace(options, **{part: True}), "a")]  # type: ignore[arg-type]
    assert run_sweep(wanted, folder).found == 0
    assert run_sweep(wanted, folder).found == 1 == run_sweep([Cell(options, "a")], folder).found
    assert len(list(folder.glob("*/result.json"))) == 2


# ---- workers -------------------------------------------------------------------------


@pytest.mark.usefixtures("cells_in_this_process")
def test_a_copy_of_a_cell_is_not_taken_for_it(tmp_path: Path) -> None:
    (cell,) = read_sweep(written(tmp_path, FIXED + "[[cells]]\nmethod = 'mlp'\n"))
    first = run_sweep([cell], tmp_path / "sweep")
    own = first.folder / str(first.rows[0]["folder"])
    table = first.table.read_bytes()
    shutil.copytree(own, first.folder / "a-copy")  # sorted before it
    again = run_sweep([cell], tmp_path / "sweep")
    assert (again.found, again.rows[0]["folder"], again.table.read_bytes()) == (1, own.name, table)
