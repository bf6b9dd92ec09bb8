"""CSV files of edges and of people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from strategies.importing.parts import NamedEdges, PeopleTable
from strategies.importing.tables import read_table


def _read(folder: Path, text: str, **options: Any) -> Any:
    (folder / "t.csv").write_text(text)
    return read_table(folder / "t.csv", **options)


def test_edges_with_columns_that_are_not_read(tmp_path: Path) -> None:
    found = _read(tmp_path, "weight,target,source\n2,b, a \n\n1,c,a\n")
    assert isinstance(found, NamedEdges)
    assert found.names == ["a", "b", "c"]
    np.testing.assert_array_equal(found.ends, [[0, 0], [1, 2]])
    np.testing.assert_array_equal(found.lines, [2, 4])
    assert found.notes == ("t.csv: not read: weight (an edge has no attributes)",)


@pytest.mark.parametrize("divider", [",", ";", "\t"])
def test_people(tmp_path: Path, divider: str) -> None:
    text = 'id,label,age,train_mask,tall\n"7",red,31,True,1\n8,,0,False,0\n'.replace(",", divider)
    found = _read(tmp_path, "\ufeff" + text)
    assert isinstance(found, PeopleTable)
    assert (found.ids, found.columns, found.labels) == (["7", "8"], ("age", "tall"), ["red", ""])
    np.testing.assert_array_equal(found.features.toarray(), [[31, 1], [0, 0]])
    np.testing.assert_array_equal(found.masks["train"], [True, False])
    assert found.places == ["t.csv: row 2", "t.csv: row 3"]


def test_other_label_and_ignored_columns(tmp_path: Path) -> None:
    text = "id,label,team,name\n1,5,a,x\n2,6,b,y\n"
    found = _read(tmp_path, text, label="team", ignore=["name"])
    assert (found.labels, found.columns) == (["a", "b"], ("label",))
    assert _read(tmp_path, text, ignore=["label", "name", "team"]).labels is None
    assert _read(tmp_path, "id,label\n1,a\n", label="team", ignore=["label"]).labels is None


def test_a_quoted_cell_over_two_lines_keeps_the_rows_right(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"t\.csv: row 4, column a: 'x' is not a number"):
        _read(tmp_path, 'id,label,a\n1,"two\nlines",3\n2,b,x\n')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"t\.csv: row 1 must name the columns source and target \(edges\) or id \(people\), found nothing"),
        ("from,to\n1,2\n", "found from, to"),
        ("id,a,a\n1,2,3\n", "row 1: the column 'a' stands twice"),
        ("source,target\n1,2\n3\n", "row 3 has 1 cells, the first row has 2"),
        ("source,target\n1,2\n3,\n", "row 3, column target: is empty"),
        ("source,target\n,2\n", "row 2, column source: is empty"),
        ("id,a\n,2\n", "row 2, column id: is empty"),
        ("id,a\n1,2\n2,\n", "row 3, column a: is empty"),
        ("id,val_mask\n1,x\n", "row 2, column val_mask: 'x' is not a number"),
        ('id,a\n1,"2\n', "row 2: unexpected end of data"),
    ],
)
def test_the_first_fault_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        _read(tmp_path, text)
    assert "\n" not in str(caught.value)
