"""Studies: each cell is measured once, and a page is made of the rows that are kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.study import Found, Measured, Study, main, read_rows, write_rows


@dataclass(frozen=True)
class Square:
    """A cell: a number and its turn."""

    number: int
    turn: int = 0
    quick: bool = False


def squared(cell: Square) -> dict[str, int]:
    """Measure a cell."""
    return {"square": cell.number**2}


def page(found: Found) -> str:
    return "".join(f"{cell.number}: {[row['square'] for row in rows]}\n" for cell, rows in found)


def rows_of(cell: Square, result: dict[str, int] | None) -> list[dict[str, str]]:
    return [] if result is None else [{"number": f"{cell.number}", "square": f"{result['square']}"}]


def study(cells: Sequence[Square], file: Path, **given: Any) -> Study:
    return Study(
        name="squares", cells=cells, results=Measured(file, squared), keys=("number",),
        key_of=lambda cell: (f"{cell.number}",), rows_of=rows_of, page=page, columns=("number", "square"),
        figure="square", **given,
    )  # fmt: skip


def test_a_cell_is_measured_once_and_found_by_a_later_call(tmp_path: Path) -> None:
    file, cells = tmp_path / "home" / "rows.jsonl", [Square(2), Square(3)]
    results = Measured(file, squared)
    assert results.found(cells) == [None, None]
    results.run(cells[:1], workers=1, until=time.monotonic() + 100)
    before = file.read_text()
    results.run(cells, workers=2, until=time.monotonic() + 100)
    assert file.read_text().startswith(before) and len(file.read_text().splitlines()) == 2
    assert Measured(file, squared).found(cells[::-1]) == [{"square": 9}, {"square": 4}]


def noted(cell: Square) -> dict[str, int]:
    """Measure a cell and note in the working folder that it began, or fail."""
    with Path("began").open("a") as file:
        file.write(".")
    if cell.number == 10:
        raise ValueError("10 is not measured")
    time.sleep(0.1)
    return squared(cell)


def test_a_cell_that_fails_ends_the_others_and_what_was_measured_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    results, cells = Measured(tmp_path / "rows.jsonl", noted), [Square(n) for n in (2, 10, *range(20, 320))]
    with pytest.raises(ValueError, match="10 is not measured"):
        results.run(cells, workers=1, until=time.monotonic() + 100)
    assert results.found(cells)[:2] == [{"square": 4}, None]
    assert len((tmp_path / "began").read_text()) < len(cells)


def test_no_cell_starts_after_the_time(tmp_path: Path) -> None:
    results, cells = Measured(tmp_path / "rows.jsonl", squared), [Square(number) for number in range(200)]
    results.run(cells, workers=1, until=time.monotonic())
    assert 1 <= sum(found is not None for found in results.found(cells)) < len(cells)


def test_a_kept_row_stays_and_a_new_result_replaces_it(tmp_path: Path) -> None:
    write_rows(tmp_path / "squares.csv", [{"number": "2", "square": "5"}, {"number": "3", "square": "8"}])
    of_three = study([Square(2), Square(3), Square(4)], tmp_path / "rows.jsonl")
    assert page(of_three.found(tmp_path)) == "2: ['5']\n3: ['8']\n4: []\n"
    of_three.results.run([Square(3)], workers=1, until=time.monotonic() + 100)
    found = of_three.found(tmp_path)
    of_three.write(found, tmp_path)
    assert (tmp_path / "squares.md").read_text() == "2: ['5']\n3: ['9']\n4: []\n"
    assert read_rows(tmp_path / "squares.csv") == [{"number": "2", "square": "5"}, {"number": "3", "square": "9"}]
    assert of_three.found(tmp_path) == found and read_rows(tmp_path / "none.csv") == []


def test_a_picture_is_drawn_where_the_table_has_changed(tmp_path: Path) -> None:
    drawn: list[int] = []

    def draw(rows: Sequence[Any], path: Path) -> None:
        drawn.append(len(rows))
        path.touch()

    one = study([Square(2)], tmp_path / "rows.jsonl", picture="squares.png", draw=draw)
    one.write(one.found(tmp_path), tmp_path)
    one.results.run(one.cells, workers=1, until=time.monotonic() + 100)
    for _ in range(2):
        one.write(one.found(tmp_path), tmp_path)
    assert drawn == [1]


def test_the_command_measures_what_is_wanted_by_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[int]] = []

    class Listed(Measured):
        def run(self, cells: Sequence[Any], *, workers: int, until: float) -> None:
            ran.append([cell.number for cell in cells])

    cells = [Square(1, turn=1), Square(2, turn=0, quick=True), Square(3, turn=2), Square(4, turn=1)]
    base = study(cells, tmp_path / "rows.jsonl")

    def call(*words: str) -> list[list[int]]:
        ran.clear()
        monkeypatch.setattr("sys.argv", ["study", "--home", str(tmp_path / "home"), *words])
        main("Squares.", "squares", lambda home: [replace(base, results=Listed(tmp_path, squared))],
             where=tmp_path)  # fmt: skip
        return list(ran)

    assert call() == [[2], [1, 4], [3]]
    assert call("--upto", "1", "squares") == [[2], [1, 4]]
    assert call("--only", "number=3") == [[3]]
    assert call("--minutes", "0") == call("--pages-only") == []
    assert call("--quick") == [[2]] and (tmp_path / "home" / "quick" / "squares.md").read_text() == "2: []\n"
    assert (tmp_path / "squares.md").read_text() == "1: []\n2: []\n3: []\n4: []\n"
    with pytest.raises(SystemExit):
        call("circles")
