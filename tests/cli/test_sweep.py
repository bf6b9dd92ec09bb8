from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from ldpsim.cli.main import app

pytestmark = pytest.mark.usefixtures("cells_in_this_process")

GRID = """
[fixed]
clients = 60
reference = false
nulls = false
device = "cpu"
settings.epochs = 3

[grid]
method = ["hogs", "raw"]
seed = [0, 1]
"""


def sweep(folder: Path, text: str, *arguments: str) -> Result:
    (folder / "grid.toml").write_text(text)
    command = ["sweep", str(folder / "grid.toml"), "--out", str(folder / "runs"), *arguments]
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, command)


def test_a_sweep_ends_with_a_table_and_the_next_runs_nothing(
    tmp_path: Path, listing: Callable[[Path], dict[str, str]]
) -> None:
    shown = sweep(tmp_path, GRID)
    assert shown.exit_code == 0, shown.output
    folder = tmp_path / "runs" / "sweep-grid"
    assert "4 cells: 4 ran, 0 had a result, 0 failed." in shown.stdout
    assert str(folder / "table.csv") in shown.stdout
    table = [line for line in shown.stdout.splitlines() if str(tmp_path) not in line]
    assert max(map(len, table)) <= 80
    following = shlex.split(shown.stdout.partition("\nNext: ")[2])
    assert following == ["ldpsim", "report", str(folder)]
    assert (folder / "table.csv").read_text().count("\n") == 5
    assert (folder / "summary.csv").read_text().count("\n") == 3  # two methods, two seeds each
    assert len(re.findall(r"\d ± \d", shown.stdout)) == 2 and str(folder / "summary.csv") in shown.stdout
    assert len(list(folder.glob("*/result.json"))) == 4
    assert len(list(folder.glob("*/config.toml"))) == 4
    before = listing(folder)

    again = sweep(tmp_path, GRID, "--json")
    assert again.exit_code == 0, again.output
    document = json.loads(again.stdout)
    assert (document["found"], document["failed"], len(document["rows"])) == (4, 0, 4)
    assert document["table"] == str(folder / "table.csv")
    assert document["summary"] == str(folder / "summary.csv")
    assert listing(folder) == before

    quiet = sweep(tmp_path, GRID, "--quiet")
    assert quiet.stdout == f"{folder / 'table.csv'}\n"


def test_another_file_of_the_same_name_has_a_folder_of_its_own(tmp_path: Path) -> None:
    sweep(tmp_path, GRID)
    folder = tmp_path / "runs" / "sweep-grid"
    table = (folder / "table.csv").read_bytes()
    other = sweep(tmp_path, GRID.replace("epochs = 3", "epochs = 2"), "--quiet")
    assert other.stdout == f"{folder}-2/table.csv\n" and (folder / "table.csv").read_bytes() == table
    changed = sweep(tmp_path, GRID.replace("[0, 1]", "[1, 2]"), "--json")  # the first file again, with another seed
    assert (json.loads(changed.stdout)["folder"], json.loads(changed.stdout)["found"]) == (str(folder), 2)


def test_a_failed_cell_is_exit_1_with_one_line(tmp_path: Path) -> None:
    grid = GRID.replace("raw", "rgnn") + "settings.C = [100000]\n"
    shown = sweep(tmp_path, grid, "--json")
    assert shown.exit_code == 1
    document = json.loads(shown.stdout)
    assert [row["status"] for row in document["rows"]] == ["done", "done", "failed", "failed"]
    assert document["failed"] == 2
    assert shown.stderr.startswith("error: 2 of 4 cells failed; method=rgnn, settings.C=100000, seed=0: --set C")
    assert len(shown.stderr.splitlines()) == 1
    shown = sweep(tmp_path, grid)
    assert shown.exit_code == 1
    assert "4 cells: 0 ran, 2 had a result, 2 failed." in shown.stdout


def test_people_who_are_asked_again_have_their_sum(tmp_path: Path) -> None:
    """Cells with noise of the operating system are collections of the same people; `raw` asks nobody."""
    grid = f"{GRID}\n[[cells]]\nseeds.noise = 9\n"
    shown = sweep(tmp_path, grid.replace("[fixed]", '[fixed]\nseeds.noise = "os"\nseeds.population = 1', 1), "--json")
    assert shown.exit_code == 0, shown.output
    document = json.loads(shown.stdout)
    losses = [row["holds_user"] for row in document["rows"] if row["method"] == "hogs" and row["noise_seed"] is None]
    (found,) = document["in_all"]
    assert (found["collections"], found["holds"]["user"]["value"]) == (2, pytest.approx(sum(losses)))


@pytest.mark.parametrize("where", ["fixed", "grid", "cells"])
def test_a_sweep_file_names_no_place_of_its_reader(where: str, tmp_path: Path) -> None:
    table = {"fixed": "[fixed]\n{}\n[grid]\nseed = [0]\n", "grid": "[grid]\n{}\n", "cells": "[[cells]]\n{}\n"}[where]
    for name in ("data_dir", "collector_key", "from_reports"):
        value = '["/evil"]' if where == "grid" else '"/evil"'
        shown = sweep(tmp_path, table.format(f"{name} = {value}"))
        assert shown.exit_code == 2, shown.output
        assert f"{name} is a place on the machine of whoever wrote the file" in shown.stderr
    assert not (tmp_path / "runs").exists()


def test_a_grid_on_the_command_line_beside_a_file_or_alone(tmp_path: Path) -> None:
    shown = sweep(tmp_path, GRID, "-g", "seed=3", "-g", "epsilon=3,4", "--json")
    assert shown.exit_code == 0, shown.output
    rows = json.loads(shown.stdout)["rows"]
    assert [(row["method"], row["epsilon"], row["seed"]) for row in rows] == [
        ("hogs", 3.0, 3), ("hogs", 4.0, 3), ("raw", 8.0, 3),
    ]  # fmt: skip
    alone = f"sweep -g method=mlp -g clients=60 -g settings.epochs=2 --quiet --out {tmp_path}"
    assert CliRunner().invoke(app, alone.split()).stdout == f"{tmp_path / 'sweep-grid' / 'table.csv'}\n"
