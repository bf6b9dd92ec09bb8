"""Rows whose runs differ in their seeds: a row's command makes the row again, and each committed row has one."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import RESULTS
from benchmarks.papers import check, people, who_predicts
from benchmarks.papers.seeds import runs_of, sweep_command, update
from benchmarks.study import read_rows
from ldpsim.cli.main import main
from ldpsim.strategies.setup.options import RunOptions

SMALL = RunOptions(method="vote", clients=120, epsilon=4.0, volunteers=0.2, private_labels=True, nulls=False)
TABLES = {"people": (people.row_of_group, people.KEYS), "who-predicts": (who_predicts.row_of_group, who_predicts.KEYS)}


def test_a_command_is_its_runs() -> None:
    """Options and seeds are those that were given; a run's command is its repeats."""
    command = sweep_command(RunOptions(method="rgnn", epsilon=4.0, settings={"m": "5"}, private_labels=False), [7, 9])
    assert command == (
        "ldpsim sweep -g method=rgnn -g dataset=generated -g epsilon=4 -g settings.m=5 -g device=cpu "
        "-g reference=false -g seed=7,9"
    )
    runs = runs_of(command)
    assert [(run.method, run.epsilon, run.settings, run.device, run.seed) for run in runs] == [
        ("rgnn", 4.0, {"m": "5"}, "cpu", seed) for seed in (7, 9)
    ]
    repeats = runs_of("ldpsim run --method mlp --repeats 2 --no-reference")
    whole = RunOptions(method="mlp", repeats=2)
    assert [run.repeats for run in repeats] == [1, 1]
    assert [run.seeds_of(0) for run in repeats] == [whole.seeds_of(0), whole.seeds_of(1)]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.usefixtures("cells_in_this_process")
def test_a_rows_command_makes_the_row_again(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It replaces the row of the same keys, and other rows stay; the check of stored rows draws it and agrees."""
    table, (row_of, keys) = tmp_path / f"{name}.csv", TABLES[name]

    def swept(command: str, folder: str) -> dict[str, str]:
        monkeypatch.setattr("sys.argv", [*command.split(), "--out", str(tmp_path / folder), "--quiet"])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        update(table, [tmp_path / folder], row_of, keys)
        return read_rows(table)[-1]

    first = swept(sweep_command(SMALL, [3, 4]), "first")
    assert first["n"] == "2" and len(first["commit"]) == 8 and float(first["device"]) > 0
    assert first["command"] == sweep_command(SMALL, [3, 4])
    assert swept(first["command"], "again") == first
    assert len(read_rows(table)) == 1
    (row,) = check.rows_with_commands(tmp_path)
    assert f"{check.run_again(row, 60.0, repeats=2).difference:.2f}" in ("0.00", "-0.00")


@pytest.mark.parametrize("name", TABLES)
def test_each_committed_row_has_a_command_of_its_keys(name: str) -> None:
    rows = read_rows(RESULTS / f"{name}.csv")
    keys = TABLES[name][1]
    assert len({tuple(row[key] for key in keys) for row in rows}) == len(rows) > 10
    for row in rows:
        runs = runs_of(row["command"])
        assert {run.seed for run in runs} == set(range(2000, 2000 + int(row["n"])))
        assert {(run.method, run.dataset) for run in runs} == {(row["method"], row[keys[0]])}
