"""Work that grows with the size of a file, not with its square. Bounds are seconds of CPU, ten times what is needed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ldpsim.strategies.importing import ImportOptions, WrongFiles, import_graph
from ldpsim.strategies.importing.faults import FileFaults
from ldpsim.strategies.importing.tables import read_table


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    before = time.process_time()
    yield
    assert time.process_time() - before < 15


@pytest.mark.parametrize("word", ["graph", "multigraph"])
def test_blank_lines_of_a_gml(word: str, tmp_path: Path) -> None:
    body = "\n" * 200_000 + "graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 ] ]\n"
    (tmp_path / "g.gml").write_text(body if word == "graph" else body.replace("graph [", "graph [ multigraph 1"))
    assert import_graph([tmp_path / "g.gml"])["edges"]["kept"] == 1


def test_a_first_row_of_many_columns(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(60_000)]
    (tmp_path / "people.csv").write_text(",".join(["id", *names, names[-1]]) + "\n")
    faults = FileFaults()
    assert read_table(tmp_path / "people.csv", ImportOptions(), faults) is None
    assert "the column 'c59999' stands twice" in faults[0].line


def test_faults_of_many_columns_are_not_compared_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"c{number}" for number in range(200)]
    rows = ["id," + ",".join(names), *(f"{k}," + ",".join([f"x{k}"] * 200) for k in range(3))]
    (tmp_path / "people.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n")
    made: list[ImportOptions] = []
    checked = ImportOptions.__post_init__
    monkeypatch.setattr(ImportOptions, "__post_init__", lambda self: made.append(self) or checked(self))  # type: ignore[func-returns-value]
    with pytest.raises(WrongFiles) as told:
        import_graph([tmp_path / "edges.csv", tmp_path / "people.csv"])
    assert len(told.value.faults) == 200 and told.value.command is not None
    assert len(made) < 20
