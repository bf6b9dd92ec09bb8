from __future__ import annotations

import copy
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from ldpsim.cli import sweep as command
from ldpsim.cli.main import app
from ldpsim.strategies.outputs.seed_groups import seed_groups
from ldpsim.strategies.outputs.sweep_table import row_of

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
    assert "method=raw, seed=1" in shown.stdout and "unprotected" in shown.stdout
    table = [line for line in shown.stdout.splitlines() if str(tmp_path) not in line]
    assert max(map(len, table)) <= 80
    following = [shlex.split(line) for line in shown.stdout.partition("\nNext:\n")[2].replace("\\\n", "").splitlines()]
    page, table = ["ldpsim", "report", str(folder)], str(folder / "table.tex")
    assert following == [page, [*page, "--latex", table]]
    assert CliRunner().invoke(app, following[1][1:]).exit_code == 0 and Path(table).is_file()
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


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("[grid]\nepsilom = [3]\n", [], "did you mean epsilon"),
        ("[grid]\nepsilon = ['much']\n", [], "must be a number"),
        ("[grid]\nepsilon = []\n", [], "empty list"),
        ("[grid]\nseed = [1, 1]\n", [], "twice"),
        ("[grid]\nstate = ['here']\n", [], "people of its own"),
        ("[grid]\nmethod = ['hgos']\n", [], "hogs"),
        ("[grid]\ndataset = ['coar']\n", [], "cora"),
        ("[grid\n", [], "grid.toml"),
        ("[fixed]\nclients = 60\n[grid]\nepsilon = [3, 8]\n[[cells]]\n", [], "twice"),
        ("[fixed]\nclients = 60\n[grid]\nsettings.tau = [7]\n", [], "no cell can run"),
        (GRID, ["--engine", "flower"], "--engine flower"),
        (GRID, ["--workers", "0"], "--workers 0"),
        (GRID, ["--state", "here"], "--state"),
        (GRID, ["--out", "{tmp}/grid.toml"], "cannot be written"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(
    text: str, arguments: list[str], said: str, tmp_path: Path
) -> None:
    shown = sweep(tmp_path, text, *(argument.format(tmp=tmp_path) for argument in arguments))
    assert shown.exit_code == 2, shown.output
    assert shown.stdout == ""
    assert len(shown.stderr.splitlines()) == 1
    assert said in shown.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["grid.toml"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["sweep", str(tmp_path / "nowhere.toml")])
    assert shown.exit_code == 2
    assert shown.stderr == f"error: {tmp_path / 'nowhere.toml'}: No such file or directory\n"


@pytest.mark.parametrize("width", [80, 40])
def test_null_models_in_the_table(width: int, with_nulls: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    old = {name: part for name, part in copy.deepcopy(with_nulls).items() if name not in ("nulls", "verdict")}
    old["reference"] = {"nonprivate_test": 0.8511}
    for each in (old, with_nulls):
        each["config"] |= {"budget": {}, "parameters": {}}
    rows = [row_of(1, old, "old"), row_of(2, with_nulls, "new"), {"status": "failed"}]
    assert (rows[1]["shuffled_adjacency"], rows[1]["standing"], rows[1]["nonprivate_test_own_settings"]) == (
        0.3311, "below", 0.8622,
    )  # fmt: skip
    assert (rows[0]["chance"], rows[0]["verdict"], rows[0]["nonprivate_test_own_settings"]) == (None, None, None)
    screen = Console(width=width, highlight=False)
    monkeypatch.setattr(command, "console", lambda: screen)
    result = SimpleNamespace(
        rows=rows, groups=[], found=0, failures=[], folder=Path("my runs"), table=Path("table.csv"),
        summary=Path("summary.csv"), parquet=None, sums=(),
    )  # fmt: skip
    with screen.capture() as capture:
        command._show(["seed=0", "seed=1", "seed=2"], result)
    lines = [" ".join(line.split()) for line in capture.get().splitlines()]
    assert max(map(len, capture.get().splitlines()[:4])) <= width
    following = lines[lines.index("Next:") + 1 :]
    assert following[0].startswith("ldpsim report 'my runs'") and following[-1].endswith("--latex 'my runs/table.tex'")
    assert lines[1].startswith("seed=0 61.2 – –") and lines[2].startswith("seed=1 61.2 30.1 78.8 ▲")
    assert lines[3] == "seed=2 failed"
    assert ("below 14.4 21,797.6" in lines[2], "not taken 14.4" in lines[1]) == (width == 80, width == 80)


def test_people_who_are_asked_again_have_their_sum(tmp_path: Path) -> None:
    """Cells with noise of the operating system are collections of the same people; `raw` asks nobody."""
    grid = f"{GRID}\n[[cells]]\nseeds.noise = 9\n"
    shown = sweep(tmp_path, grid.replace("[fixed]", '[fixed]\nseeds.noise = "os"\nseeds.population = 1', 1), "--json")
    assert shown.exit_code == 0, shown.output
    document = json.loads(shown.stdout)
    losses = [row["holds_user"] for row in document["rows"] if row["method"] == "hogs" and row["noise_seed"] is None]
    (found,) = document["in_all"]
    assert (found["collections"], found["holds"]["user"]["value"]) == (2, pytest.approx(sum(losses)))


@pytest.mark.parametrize("width", [80, 40])
def test_means_over_the_seeds(width: int, with_nulls: dict[str, Any]) -> None:
    records = []
    for place, test in enumerate((0.5, 0.6, 0.7)):
        other = copy.deepcopy(with_nulls)
        other["config"] |= {"seed": place, "epsilon": 4.0 if place < 2 else 8.0}
        other["accuracy"] |= {"test": test, "per_repeat": [test]}
        records.append(other)
    screen = Console(width=width, highlight=False)
    with screen.capture() as capture:
        screen.print(command._means(seed_groups(records)))
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= width
    assert [line.split() for line in lines] == [
        ["mean", "of", "n", "test", "%", "null"],
        ["hogs", "ε", "4", "2", "55.0", "±", "7.1", "78.8", "▲"],
        ["hogs", "ε", "8", "1", "70.0", "78.8", "▲"],
    ]


@pytest.mark.parametrize("where", ["fixed", "grid", "cells"])
def test_a_sweep_file_names_no_place_of_its_reader(where: str, tmp_path: Path) -> None:
    table = {"fixed": "[fixed]\n{}\n[grid]\nseed = [0]\n", "grid": "[grid]\n{}\n", "cells": "[[cells]]\n{}\n"}[where]
    for name in ("data_dir", "collector_key", "from_reports"):
        value = '["/evil"]' if where == "grid" else '"/evil"'
        shown = sweep(tmp_path, table.format(f"{name} = {value}"))
        assert shown.exit_code == 2, shown.output
        assert f"{name} is a place on the machine of whoever wrote the file" in shown.stderr
    assert not (tmp_path / "runs").exists()
