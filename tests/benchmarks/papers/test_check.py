"""Stored rows run again: real ones agree, another figure does not, and the repeats are those of the stored run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import RESULTS
from benchmarks.papers import check
from benchmarks.papers.cell import TableCell, cell_options, columns_of, command, row_of
from benchmarks.study import read_rows, write_rows
from ldpsim.strategies.runs.simulate import simulate

OPTIONS = cell_options("lp-and", "generated", clients=150, epsilon=4.0, repeats=3, repeats_vary="noise")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a table of one row, made by a run of today, that stands in the place of the committed ones."""
    cell, path = TableCell("T", {"epsilon": "4"}, OPTIONS), tmp_path / "small.csv"
    write_rows(path, [row_of([], cell, simulate(OPTIONS).record)], columns_of([], [cell]))
    monkeypatch.setattr(check, "RESULTS", tmp_path)
    return path


def changed(path: Path, **values: str) -> None:
    write_rows(path, [{**row, **values} for row in read_rows(path)])


def test_the_repeats_are_those_of_the_stored_run(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One by one they have the mean and the deviation of the whole run."""
    assert check.main(["--rows", "1"]) == 0
    first, last = capsys.readouterr().out.splitlines()
    (row,) = read_rows(table)
    ours = row["ours"]
    assert ours.endswith("(3)") and float(row["std"]) > 0
    assert first == f"small, T, 4: agrees: stored {ours}, today {ours}, +0.00 of ±{max(1.5, limit(row)):.2f} points"
    assert last == "1 of 1 rows agree, 0 do not, 0 were not run; drawn from 1 by seed 0"


def limit(row: dict[str, str]) -> float:
    return 3 * (2 * float(row["std"]) ** 2 / 3) ** 0.5


def test_a_row_outside_its_interval_fails_unless_it_is_said_to_be_older(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (row,) = read_rows(table)
    changed(table, accuracy=f"{float(row['accuracy']) + max(1.5, limit(row)) + 0.1:.2f}")
    assert check.main(["--rows", "1"]) == 1
    assert "small, T, 4: LEFT ITS INTERVAL: stored" in capsys.readouterr().out
    changed(table, command=command(replace(OPTIONS, method="nobody")))
    assert check.main(["--rows", "1"]) == 1
    assert "small, T, 4: DOES NOT RUN: unknown method 'nobody'" in capsys.readouterr().out
    (row,) = read_rows(table)
    older = table.with_name("older.csv")
    write_rows(older, [{"file": table.name, "command": row["command"]}])
    with pytest.raises(SystemExit) as ended:
        check.main(["--rows", "1", "--older", str(older)])
    assert ended.value.code == 2 and "--rows 1: must be from 1 to 0" in capsys.readouterr().err


def test_a_row_whose_first_repeat_takes_too_long_is_not_compared(
    table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*_: object, **__: object) -> None:
        while True:
            pass

    monkeypatch.setattr(check, "simulate", endless)
    assert check.main(["--rows", "1", "--row-seconds", "0.05"]) == 0
    assert "small, T, 4: not run: no run ends in 0.05 s" in capsys.readouterr().out


def test_three_stored_rows_agree_with_the_code_of_today(data_dir: Path) -> None:
    """The cheapest ones: students whose noisy features and labels are read as they came, two repeats."""
    rows = [row for row in check.rows_with_commands(RESULTS, "rgnn.csv")
            if (row["data set"], row["model"]) == ("student", "noisy")]  # fmt: skip
    for row in rows[:3]:
        compared = check.run_again(row, 60.0, repeats=2)
        assert compared.agrees, f"{check.label_of(row)}: {compared}"
