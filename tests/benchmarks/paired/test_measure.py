"""One collection that several curators read: the same figures as runs of their own, and pairs that are pairs."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.paired.cells import PUBLIC, large_cells, reader, references, small_cells
from benchmarks.paired.measure import CHANCE, FEATURES_ALONE, GRAPH_ALONE, Cell, measure
from benchmarks.paired.rows import Row, read_rows
from benchmarks.paired.run import line_of, run, seeds_of
from strategies.runs.simulate import simulate
from strategies.setup.run_setup import load_population

SMALL = {"clients": 60, "epsilon": 3.0, "public_features": True}
SHORT = {"epochs": 5}
HOGS = reader("hogs", "hogs", "generated", settings=SHORT, **SMALL)
LP = reader("lp-and", "lp-and", "generated", **SMALL)
CELL = Cell(PUBLIC, "3", (HOGS, LP), (CHANCE, GRAPH_ALONE, FEATURES_ALONE))


def rows_of(cell: Cell, seed: int = 5) -> dict[str, Row]:
    people = load_population(cell.readers[0].options)
    return {row.method: row for row in measure(cell, seed, people)}


def test_a_curator_has_the_accuracy_of_a_run_of_its_own() -> None:
    """The collection is the product's, so that a curator's figure is that of ``ldpsim run`` with its options."""
    people = load_population(HOGS.options)  # of seed 0, as in the runs below
    found = {row.method: row for row in measure(CELL, 0, people)}
    for each in (HOGS, LP):
        record = simulate(replace(each.options, nulls=True)).record
        assert found[each.name].test == pytest.approx(100 * record["accuracy"]["test"])
        assert found[GRAPH_ALONE].test == pytest.approx(100 * record["nulls"]["graph_alone"]["test"])
    assert found[FEATURES_ALONE].test == pytest.approx(100 * record["nulls"]["features_alone"]["test"])
    assert found[CHANCE].test == pytest.approx(100 * record["nulls"]["chance"]["test"])


def test_curators_of_one_cell_read_the_same_reports_and_asking_again_gives_them_again() -> None:
    first = rows_of(CELL)
    again = rows_of(replace(CELL, readers=(LP,), nulls=()))
    assert {row.reports for row in first.values()} == {again["lp-and"].reports} != {""}
    assert again["lp-and"].test == first["lp-and"].test
    assert rows_of(replace(CELL, readers=(LP,), nulls=()), seed=6)["lp-and"].reports != again["lp-and"].reports


def test_a_curator_that_asks_for_more_is_refused() -> None:
    more = reader("lp-and", "lp-and", "generated", **{**SMALL, "epsilon": 4.0})
    with pytest.raises(ValueError, match="asks another question"):
        rows_of(Cell(PUBLIC, "3", (LP, more)))
    private = reader("hogs", "hogs", "generated", settings=SHORT, clients=60, epsilon=3.0)
    part = reader("lp-and", "lp-and", "generated", clients=60, eps_adjacency=0.9 * 3.0)
    assert "lp-and" in rows_of(Cell(PUBLIC, "3", (private, part)))  # a part of what was asked is no more


def test_a_reference_asks_nobody() -> None:
    cell = references("generated")
    small = replace(cell.readers[0], options=replace(cell.readers[0].options, clients=60, settings={"epochs": "5"}))
    found = rows_of(replace(cell, readers=(small,)))
    assert {row.question + row.reports for row in found.values()} == {""}
    assert set(found) == {"no noise", CHANCE, FEATURES_ALONE}


def test_a_row_that_is_there_is_not_measured_again(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    cell = replace(CELL, nulls=(CHANCE,))
    assert len(list(run([cell], (1, 2), file))) == 6
    assert list(run([cell], (1, 2), file)) == []
    another = replace(cell, readers=(HOGS, LP, reader("rr", "rr", "generated", settings=SHORT, **SMALL)))
    added = list(run([another], (1,), file))
    assert [row.method for row in added] == ["rr"]
    rows = read_rows(file)
    assert len(rows) == 7 and {row.reports for row in rows if row.seed == 1} == {added[0].reports}
    assert list(run([replace(cell, budget="9")], (1,), file, until=-math.inf)) == []


def test_kept_reports_are_read_and_nobody_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = load_population(HOGS.options)
    cell = replace(CELL, nulls=())
    first = [replace(row, cpu=0) for row in measure(cell, 5, people, home=tmp_path)]
    monkeypatch.setattr("strategies.experiments.trial.set_scene", None)
    assert [replace(row, cpu=0) for row in measure(cell, 5, people, home=tmp_path)] == first
    with pytest.raises(TypeError):
        list(measure(cell, 6, people, home=tmp_path))  # other people's noise: they have to be asked


def test_the_cells_have_lines_and_seeds_are_read() -> None:
    assert seeds_of("2000-2002,7") == (2000, 2001, 2002, 7)
    lines = [line_of(cell) for cell in (*small_cells(), *large_cells())]
    assert len(set(lines)) == len(lines)
    assert "cora, public features, 3, hogs hogs, stored settings lp-and" in lines
