"""Work that grows with the size of a file, not with its square. Bounds are seconds of CPU, ten times what is needed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ldpsim.strategies.importing import WrongFiles, import_graph


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


def test_a_table_of_many_columns(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(3_000)]
    rows = ["id," + ",".join(names), *(f"{k}," + ",".join([f"x{k}"] * len(names)) for k in range(3))]
    (tmp_path / "people.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n")
    with pytest.raises(WrongFiles) as told:
        import_graph([tmp_path / "edges.csv", tmp_path / "people.csv"])
    assert len(told.value.faults) == len(names)
