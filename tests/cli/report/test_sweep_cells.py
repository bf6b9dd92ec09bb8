from __future__ import annotations

from pathlib import Path

import pytest

from ldpsim.cli.report.sweep_cells import cells_of
from ldpsim.strategies.outputs.sweep_table import columns

HEAD = "cell,status,method,folder,population_seed,error\n"


def test_cells_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(HEAD + '1,done,hogs,a,5,\n2,done,raw,b,6,\n3,failed,rgnn,,5,"no, labels"\n')
    found = cells_of(tmp_path)
    assert found is not None and found.folders == {"a", "b"} and found.varies_people
    assert found.failed == (("rgnn", "no, labels"),)
    (tmp_path / "table.csv").write_text(HEAD + "1,done,hogs,a,5,\n2,done,raw,b,5,\n")
    assert not cells_of(tmp_path).varies_people  # type: ignore[union-attr]


def test_other_folders_are_no_sweeps(tmp_path: Path) -> None:
    assert cells_of(tmp_path) is None
    (tmp_path / "table.csv").write_text(HEAD)
    assert cells_of(tmp_path).folders is None  # type: ignore[union-attr]
    (tmp_path / "compare.json").write_text("{}")
    assert cells_of(tmp_path) is None


def test_a_table_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError):
        cells_of(tmp_path)


def test_the_columns_are_those_that_a_sweep_writes() -> None:
    assert {"status", "method", "folder", "population_seed", "error"} <= set(columns([]))
