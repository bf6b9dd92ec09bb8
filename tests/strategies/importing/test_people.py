"""Rows of people as numbers, categories, labels and masks, and the faults of cells that are none of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ldpsim.strategies.importing import people
from ldpsim.strategies.importing.faults import FileFault, FileFaults
from ldpsim.strategies.importing.options import ImportOptions
from ldpsim.strategies.importing.parts import PeopleTable
from ldpsim.strategies.importing.people import one_hot_coded, read_people


def _read(
    columns: str, rows: list[list[Any]], label: str | None = "label", **options: Any
) -> tuple[PeopleTable, FileFaults]:
    names, faults = columns.split(), FileFaults()
    numbered = [(k + 2, row) for k, row in enumerate(rows)]
    chosen = ImportOptions(**options)
    table = read_people("p.csv", names, numbered, chosen, faults, id="id", label=label, found=names)
    return one_hot_coded(table, chosen, faults), faults


@pytest.mark.parametrize("chunk", [1, 2, 20_000])
def test_numbers_words_and_empty_cells(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "_CHUNK", chunk)
    rows: list[list[Any]] = [
        ["a", "1", " 2.5", "-3e2"],
        ["b", "True", "false", 4],
        ["c", "", " N/A", None],
        ["d", "nan", "?", "-"],
    ]
    table, faults = _read("id x y z", rows, label=None)
    assert not faults and table.ids == ["a", "b", "c", "d"] and table.rows == [2, 3, 4, 5]
    nothing = [np.nan] * 3
    np.testing.assert_array_equal(table.cells, [[1, 2.5, -300], [1, 0, 4], nothing, nothing])


def test_a_number_is_read_to_its_last_bit() -> None:
    text = "0.8123456789012345678"
    assert _read("id x", [["a", text]], label=None)[0].cells.loc[0, "x"] == float(text)


def test_labels_masks_and_ignored_columns() -> None:
    rows = [["a", "red", "1", "text"], ["b", "NaN", "", "text"]]
    table, faults = _read("id label train_mask name", rows, ignore=("name",))
    assert not faults and table.cells.shape == (2, 0)
    assert table.labels.tolist()[0] == "red" and table.labels.isna().tolist() == [False, True]
    np.testing.assert_array_equal(table.masks["train"], [1, np.nan])


def test_no_rows() -> None:
    table, faults = _read("id x", [], label=None)
    assert (len(table.ids), table.cells.shape, len(faults)) == (0, (0, 1), 0)


def test_a_column_of_text_is_one_fault_with_the_option_that_mends_it() -> None:
    rows = [[f"p{k}", ["Rome", "Oslo"][k % 2], f"2024-01-{k}", "7", str(k) if k else "many"] for k in range(30)]
    _, faults = _read("id city day x most", rows, label=None)
    label = ", --label {} takes it as the class"
    assert list(faults) == [
        FileFault("p.csv: row 2, column city", "'Rome' is not a number (30 rows, 2 different texts)",
              "--one-hot city makes each value a feature of 0 and 1, --ignore city leaves the column out"
              + label.format("city"), {"one_hot": ("city",)}),
        FileFault("p.csv: row 2, column day", "'2024-01-0' is not a number (30 rows)",
              "--ignore day leaves the column out" + label.format("day"), {"ignore": ("day",)}),
        FileFault("p.csv: row 2, column most", "'many' is not a number", "write numbers there, or empty these cells "
              "and choose --missing, or --ignore most leaves the column out", {"ignore": ("most",)}),
    ]  # fmt: skip
    assert "--label" not in _read("id city label", [["a", "Rome", "x"]])[1][0].remedy


def test_the_remedy_names_the_whole_attribute_in_quotes_of_a_shell() -> None:
    faults = FileFaults()
    rows = [("v", ["v", "red"])]
    read_people("g.gml", ["id", "my x[3]"], rows, ImportOptions(), faults, id="id", label=None, found=["my x"],
                sources={"my x[3]": "my x"}, row_word="node")  # fmt: skip
    assert faults[0].place == "g.gml: node v, column my x[3]"
    assert "--one-hot 'my x' makes" in faults[0].remedy and faults[0].change == {"one_hot": ("my x",)}


def test_a_mask_of_text() -> None:
    fault = _read("id val_mask", [["a", "yes"]], label=None)[1][0]
    assert fault.line == (
        "p.csv: row 2, column val_mask: 'yes' is not a number; write 0 or 1 there, or --ignore val_mask leaves the "
        "column out"
    )


def test_categories_become_columns_and_their_empty_cells_stay_empty() -> None:
    rows = [["a", "Rome", "1"], ["b", " Oslo ", "2"], ["c", "", "3"]]
    table, faults = _read("id city x", rows, label=None, one_hot=("city",))
    assert (
        not faults and list(table.cells) == ["city=Oslo", "city=Rome", "x"] and table.sources == ("city", "city", "x")
    )
    np.testing.assert_array_equal(table.cells, [[0, 1, 1], [1, 0, 2], [np.nan, np.nan, 3]])


def test_stated_categories_keep_their_order_and_refuse_others() -> None:
    rows = [["a", "Rome"], ["b", "Oslo"]]
    table, faults = _read("id city", rows, label=None, one_hot=("city=Rome,Bonn, Oslo",))
    assert not faults and list(table.cells) == ["city=Rome", "city=Bonn", "city=Oslo"]
    np.testing.assert_array_equal(table.cells, [[1, 0, 0], [0, 0, 1]])
    fault = _read("id city", [*rows, ["c", "Oslo"]], label=None, one_hot=("city=Rome",))[1][0]
    assert fault.line == (
        "p.csv: row 3, column city: 'Oslo' is none of the values of --one-hot (2 rows); write one of them, or state "
        "all (none with a comma): --one-hot city=Rome,Oslo"
    )


def test_rows_without_a_name() -> None:
    rows = [["", "1"], ["b", "2"], [" ", "3"]]
    table, faults = _read("id x", rows, label=None)
    assert faults[0].place == "p.csv: row 2, column id" and faults[0].what == "is empty (2 rows)"
    assert faults[0].change == {"missing": "zero"} and table.ids == ["b"]
    table, faults = _read("id x", rows, label=None, missing="mark")
    assert not faults and (table.ids, table.rows, table.cells["x"].tolist()) == (["b"], [3], [2.0])


def test_numbers_with_a_comma_are_not_a_category() -> None:
    fault = _read("id height", [["a", "1,80"], ["b", "1,75"]], label=None)[1][0]
    assert fault.remedy == "write numbers with a point (1.80), or --ignore height leaves the column out"
    assert fault.change == {"ignore": ("height",)}


def test_a_category_with_a_few_numbers_is_still_a_category() -> None:
    rows = [[f"p{k}", str(k) if k < 4 else "Rome"] for k in range(10)]
    assert _read("id city", rows, label=None)[1][0].change == {"one_hot": ("city",)}
    rows = [[f"p{k}", str(k) if k < 6 else "Rome"] for k in range(10)]
    assert _read("id city", rows, label=None)[1][0].change == {"ignore": ("city",)}
