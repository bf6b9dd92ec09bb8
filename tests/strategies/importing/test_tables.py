"""CSV files of edges and of people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.strategies.importing.faults import FileFaults, WrongFiles
from ldpsim.strategies.importing.options import ImportOptions
from ldpsim.strategies.importing.parts import NamedEdges, PeopleTable
from ldpsim.strategies.importing.tables import read_table


def _read(folder: Path, text: str, **options: Any) -> Any:
    (folder / "t.csv").write_text(text)
    faults = FileFaults()
    found = read_table(folder / "t.csv", ImportOptions(**options), faults)
    faults.end()
    return found


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
    assert (found.ids, tuple(found.cells), found.labels.tolist()[0]) == (["7", "8"], ("age", "tall"), "red")
    assert found.labels.isna().tolist() == [False, True]
    np.testing.assert_array_equal(found.cells, [[31, 1], [0, 0]])
    np.testing.assert_array_equal(found.masks["train"], [1, 0])
    assert [found.place(k) for k in range(2)] == ["t.csv: row 2", "t.csv: row 3"]


def test_other_label_and_ignored_columns(tmp_path: Path) -> None:
    text = "id,label,team,name\n1,5,a,x\n2,6,b,y\n"
    found = _read(tmp_path, text, label="team", ignore=("name",))
    assert (found.labels.tolist(), tuple(found.cells)) == (["a", "b"], ("label",))
    assert _read(tmp_path, text, ignore=("label", "name", "team")).labels is None
    assert _read(tmp_path, "id,label\n1,a\n", label="team", ignore=("label",)).labels is None


def test_a_quoted_cell_over_two_lines_keeps_the_rows_right(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"t\.csv: row 4, column a: 'x' is not a number"):
        _read(tmp_path, 'id,label,a\n1,"two\nlines",3\n2,b,x\n')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"t\.csv: row 1 must name the columns source and target \(edges\) or id \(people\), found nothing"),
        ("from,to\n1,2\n", "found from, to"),
        ("id,a,a\n1,2,3\n", "row 1: the column 'a' stands twice"),
        ("source,target\n1,2\n3\n", "row 3 has 1 cells, the first row has 2; correct"),
        ("source,target\n" + "3\n" * 8, r"row 2 has 1 .* \(8 such rows: also 3, 4, 5, 6, 7 \.\.\.\)"),
        ("source,target\n1,2\n3,\n", "row 3, column target: is empty; write"),
        ("source,target\n1,2\n3,\n,5\n", r"row 3, column target: is empty \(2 rows\); .*--missing zero"),
        ("source,target\n,2\n", "row 2, column source: is empty"),
        ("id,a\n,2\n", "row 2, column id: is empty"),
        ("id,val_mask\n1,x\n", "row 2, column val_mask: 'x' is not a number"),
        ('id,a\n1,"2\n', "row 2: unexpected end of data"),
    ],
)
def test_the_first_fault_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        _read(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_columns_of_other_names(tmp_path: Path) -> None:
    edges = _read(tmp_path, "von,nach\na,b\n", source="von", target="nach")
    assert (edges.names, edges.columns) == (["a", "b"], ("von", "nach"))
    people = _read(tmp_path, "name,x\na,1\n", id="name")
    assert (people.ids, people.id, list(people.cells)) == (["a"], "name", ["x"])
    assert _read(tmp_path, "source,target\na,b\n", source="von").columns == ("source", "target")  # another file


def test_rows_without_an_end_are_left_out_where_empty_cells_are_dealt_with(tmp_path: Path) -> None:
    found = _read(tmp_path, "source,target\na,\nb,c\n", missing="mark")
    assert found.names == ["b", "c"] and found.lines.tolist() == [3]


@pytest.mark.parametrize(
    ("header", "remedy", "change"),
    [
        ("From,TO,since", "--source From --target TO reads edges", {"source": "From", "target": "TO"}),
        (
            "person,friend of",
            "--source person --target 'friend of' reads edges",
            {"source": "person", "target": "friend of"},
        ),
        ("user_id,age,club", "--id user_id reads people, --source NAME --target NAME reads edges", {"id": "user_id"}),
        ("name,age", "--id name reads people, --source NAME --target NAME reads edges", {"id": "name"}),
        (
            "user_id,friend_id,w",
            "--source user_id --target friend_id reads edges",
            {"source": "user_id", "target": "friend_id"},
        ),
        (
            "user_id,friend_id",
            "--source user_id --target friend_id reads edges",
            {"source": "user_id", "target": "friend_id"},
        ),
        ("who,age,club", "--source NAME --target NAME reads edges, --id NAME reads people", {}),
    ],
)
def test_a_first_row_of_other_names_proposes_options(tmp_path: Path, header: str, remedy: str, change: Any) -> None:
    with pytest.raises(WrongFiles) as caught:
        _read(tmp_path, f"{header}\n1,2,3\n")
    (fault,) = caught.value.faults
    assert (
        fault.remedy == remedy and fault.change == change and fault.what.endswith(f"found {header.replace(',', ', ')}")
    )


def test_all_faults_of_a_file_at_once(tmp_path: Path) -> None:
    with pytest.raises(WrongFiles) as caught:
        _read(tmp_path, "id,a,b\n1,x,3\n,2,3\n4,5\n4,5,y\n")
    assert [fault.place for fault in caught.value.faults] == [
        "t.csv", "t.csv: row 2, column a", "t.csv: row 5, column b", "t.csv: row 3, column id"
    ]  # fmt: skip
