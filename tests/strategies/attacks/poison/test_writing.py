"""The folder of a measurement."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from strategies.attacks.poison import running
from strategies.attacks.poison.options import PoisonOptions
from strategies.attacks.poison.writing import COLUMNS, run_and_write, table_csv


def test_a_folder_has_result_table_and_figure(asked: Callable[..., PoisonOptions], tmp_path: Path) -> None:
    result, folder = run_and_write(asked(attacks=("silent",)), tmp_path)
    assert folder.name.startswith("poison-generated-") and folder.name.endswith("-3")
    record = json.loads((folder / "result.json").read_text())["poison"]
    assert record["rows"] == json.loads(json.dumps(list(result.rows)))
    rows = list(csv.DictReader((folder / "table.csv").read_text().splitlines()))
    assert list(rows[0]) == list(COLUMNS)
    assert [row["attack"] for row in rows] == ["none", "silent"]
    assert (folder / "poison.png").read_bytes()[:4] == b"\x89PNG"


def test_a_folder_with_a_failure_has_no_result(
    asked: Callable[..., PoisonOptions], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the same command goes on in it."""
    real = running.run_poison_cell
    monkeypatch.setattr(running, "run_poison_cell", lambda cell: real(cell) if cell.attack == "none" else 1 / 0)
    result, folder = run_and_write(asked(attacks=("silent",)), tmp_path)
    assert result.failures[0][1].line == "ZeroDivisionError: division by zero"
    assert not (folder / "result.json").exists()
    monkeypatch.setattr(running, "run_poison_cell", real)
    again, same = run_and_write(asked(attacks=("silent",)), tmp_path)
    assert same == folder and again.found == 1 and (folder / "result.json").is_file()


def test_table_of_nothing() -> None:
    assert table_csv([]) == ",".join(COLUMNS) + "\n"
