"""Stored hashes of format 1: rewritten, they are found again, and nothing else is changed."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.rehash import Hashes, hash_of_format_1, main, options_of_command
from ldpsim.strategies.experiments.compare import compare, shown_options
from ldpsim.strategies.experiments.sweep import run_sweep
from ldpsim.strategies.experiments.sweep_file import Cell
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.simulate import simulate
from ldpsim.strategies.setup.fingerprint import config_hash
from ldpsim.strategies.setup.options import RunOptions

RUN = RunOptions(method="raw", clients=60, reference=False, nulls=False, groups=False, device="cpu",
                 settings={"epochs": "3"})  # fmt: skip


def as_of_format_1(folder: Path, options: RunOptions) -> Path:
    """Give a run the hash that version 0.1.0 gave it, and return its folder."""
    old, new = Hashes().of(options)
    assert new in folder.name
    result = folder / "result.json"
    result.write_text(result.read_text().replace(new, old))
    for table in folder.parent.glob("*.csv"):
        table.write_text(table.read_text().replace(new, old))
    for summary in folder.parent.glob("*.json"):
        summary.write_text(summary.read_text().replace(new, old))
    return folder.rename(folder.with_name(folder.name.replace(new, old)))


@pytest.mark.parametrize(
    ("given", "digest"),
    [
        ({"method": "hogs", "gnn": "gat", "seed": 1, "settings": {"epochs": "40"}}, "9fce357ec341"),
        ({"method": "solitude", "settings": {"epochs": "40"}}, "d91b87e77223"),
        ({"method": "ldpgcn", "settings": {"epochs": "40"}}, "6e7a9eb6e3f5"),
        ({"method": "sbp"}, "9e0ae79885e3"),
    ],
)
def test_the_form_before_is_that_of_version_0_1_0(given: dict[str, object], digest: str) -> None:
    """The golden runs had these hashes."""
    assert hash_of_format_1(prepare(RunOptions(clients=120, device="cpu", **given))) == digest  # type: ignore[arg-type]


def test_a_run_is_found_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = replace(RUN, out=tmp_path)
    folder = simulate(options).folder
    assert folder is not None
    old = as_of_format_1(folder, RUN)
    assert main([str(tmp_path)]) == 0 and not old.exists()
    assert capsys.readouterr().out == "every hash is of today\n"
    found = simulate(options, again=False)
    assert found.earlier and found.folder == folder and found.record["config_hash"] in folder.name
    assert main([str(tmp_path)]) == 0  # it changes nothing a second time
    (folder / "config.toml").write_text((folder / "config.toml").read_text().replace("clients = 60", "clients = 61"))
    assert main([str(tmp_path)]) == 1 and "is not of its config.toml" in capsys.readouterr().out
    assert json.loads((folder / "result.json").read_text()) == found.record


@pytest.mark.usefixtures("cells_in_this_process")
def test_cells_of_a_sweep_and_of_a_comparison_are_found_again(tmp_path: Path) -> None:
    cells = [Cell(replace(RUN, seed=seed), f"seed={seed}") for seed in (0, 1)]
    swept = run_sweep(cells, tmp_path / "sweep")
    options = replace(RUN, out=tmp_path, method="hogs", epsilon=4.0)
    compared = compare(["hogs", "raw"], options)
    for result in (swept, compared):
        for record, name in zip(result.records, result.folders, strict=True):
            config = record["config"]
            own = {key: config[key] for key in ("method", "epsilon", "seed", "all_nulls")}
            as_of_format_1(result.folder / name, replace(RUN, **own))
    terms = shown_options(options)
    old_name = compared.folder.name.replace(config_hash(terms), config_hash({**terms, "same_reports": False}))
    assert old_name != compared.folder.name
    tables = {path.name: path.read_text() for path in compared.folder.glob("*.csv")}
    compared.folder.rename(tmp_path / old_name)
    assert main([str(tmp_path)]) == 0
    assert run_sweep(cells, swept.folder).found == 2
    again = compare(["hogs", "raw"], options)
    assert (again.folder, again.found, again.folders) == (compared.folder, 2, compared.folders)
    assert tables.keys() == {path.name for path in compared.folder.glob("*.csv")}


def test_a_row_of_a_table_gets_the_hash_of_its_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = "ldpsim run --method raw --clients 60 --device cpu --no-reference"
    old, new = Hashes().of(options_of_command(command))
    path = tmp_path / "raw.csv"
    rows = f"ours,config_hash,command\r\n81.2,{old},{command}\r\n79.0,0123456789ab,{command}\r\n,,\r\n"
    path.write_bytes(rows.encode())
    assert main([str(path)]) == 1
    assert capsys.readouterr().out == f"{path}: 0123456789ab is not of {command}\n"
    assert path.read_bytes() == rows.replace(old, new).encode()
    assert [row["config_hash"] for row in csv.DictReader(path.open())] == [new, "0123456789ab", ""]
