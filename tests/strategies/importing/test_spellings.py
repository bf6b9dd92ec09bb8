"""Tables in which people typed one value in several ways: another case, and words for an empty cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scipy.sparse import csr_array

from ldpsim.strategies.importing.graph_import import import_graph
from ldpsim.strategies.importing.options import ImportOptions, WrongFiles
from ldpsim.strategies.importing.people import ImportedGraph
from tests.strategies.importing.reading import read

EDGES = "source,target\na,b\nb,c\nc,d\n"
PEOPLE = "id,plan,age,label\na,Gold,1,Regular\nb,gold,n/a,regular\nc,unknown,0,regular\nd,-,1,new\n"


def _faults(folder: Path, texts: dict[str, str], **options: Any) -> tuple[str, ...]:
    with pytest.raises(WrongFiles) as caught:
        read(folder, texts, **options)
    assert not any("\n" in line for line in caught.value.faults)
    return caught.value.faults


def _dense(graph: ImportedGraph) -> list[list[float]]:
    a = graph.arrays
    shape = (len(a["labels"]), int(a["num_features"]))
    return csr_array((a["values"], a["indices"], a["indptr"]), shape=shape).toarray().tolist()


def test_the_first_message_names_what_the_second_command_needs(tmp_path: Path) -> None:
    """Each column with its spellings, and the options that read it: two tries, not four."""
    texts = {"e.csv": EDGES, "p.csv": PEOPLE}
    told = _faults(tmp_path, texts)
    assert len(told) == 3
    assert told[0].startswith(
        "p.csv: row 2, column label: 'Regular' and 'regular' differ in case alone; --ignore-case reads them as "
        "'regular', --class-names A,B,... keeps them apart"
    )
    assert "other rows are empty, '-' or 'unknown', 'gold' and 'Gold' differ in case alone" in told[1]
    assert "; --one-hot plan --missing unknown --ignore-case makes each value a feature" in told[1]
    assert told[2].startswith("p.csv: row 3, column age: is empty or 'n/a'; --missing unknown puts 0 there")
    graph, notes = read(tmp_path, texts, one_hot=("plan",), missing="unknown", ignore_case=True)
    assert graph.columns == ("plan=Gold", "plan=unknown", "age", "age=unknown")
    assert _dense(graph) == [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 0], [0, 1, 1, 0]]
    assert graph.arrays["class_names"].tolist() == ["new", "regular"]
    assert any("empty cells, --missing unknown: 2 in plan, 1 in age; a feature says who" in note for note in notes)
    assert sum("(--ignore-case)" in note for note in notes) == 2


def test_the_spelling_that_is_kept_is_the_stated_one_else_the_most_frequent(tmp_path: Path) -> None:
    people = "id,city,label\na,ROME,1\nb,Rome,0\nc,rome,1\nd,rome,0\n"
    texts = {"e.csv": EDGES, "p.csv": people}
    assert read(tmp_path, texts, one_hot=("city",), ignore_case=True)[0].columns == ("city=rome",)
    stated, _ = read(tmp_path, texts, one_hot=("city=Oslo,Rome",), ignore_case=True)
    assert _dense(stated) == [[0, 1]] * 4
    apart, _ = read(tmp_path, texts, one_hot=("city=ROME,Rome,rome",))
    assert _dense(apart) == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]
    (line,) = _faults(tmp_path, texts, one_hot=("city=Oslo,Rome",))
    assert "'rome' and 'Rome' differ in case alone (2 spellings); --ignore-case reads them as 'Rome'" in line


def test_a_word_that_is_stated_is_a_value(tmp_path: Path) -> None:
    """A country may be called NA, and a plan none."""
    people = "id,plan,label\na,none,NA\nb,x,EU\nc,-,NA\nd,x,EU\n"
    texts = {"e.csv": EDGES, "p.csv": people}
    graph, _ = read(tmp_path, texts, one_hot=("plan=none,x",), class_names=("EU", "NA"), missing="zero")
    assert _dense(graph) == [[1, 0], [0, 1], [0, 0], [0, 1]] and graph.arrays["labels"].tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("word", ["-1", "nan"])
def test_a_stated_class_may_be_called_as_no_label_is(tmp_path: Path, word: str) -> None:
    texts = {"e.csv": EDGES, "p.csv": f"id,label\na,{word}\nb,1\nc,{word}\nd,\n"}
    graph, _ = read(tmp_path, texts, class_names=(word, "1"))
    assert graph.arrays["labels"].tolist() == [0, 1, 0, -1]


def test_a_word_for_no_label_is_no_class(tmp_path: Path) -> None:
    people = "id,label\na,red\nb,n/a\nc,-\nd,None\n"
    (line,) = _faults(tmp_path, {"e.csv": EDGES, "p.csv": people})
    assert line == (
        "p.csv: row 3, column label: '-' may be a class or no label (2 rows); --missing unknown takes it as no label, "
        "--class-names A,B,... states it as a class"
    )
    graph, notes = read(tmp_path, {"e.csv": EDGES, "p.csv": people}, missing="unknown")
    assert graph.arrays["class_names"].tolist() == ["None", "red"]
    assert sorted(graph.arrays["labels"].tolist()) == [-1, -1, 0, 1]
    assert "p.csv: row 3, column label: read as no label: -, n/a (2 rows)" in notes


@pytest.mark.parametrize(("unknown", "columns"), [("a,b", 3), ("a,b,unknown", 3)])
def test_an_empty_cell_is_a_value_of_its_own_also_beside_stated_ones(
    tmp_path: Path, unknown: str, columns: int
) -> None:
    people = "id,plan\na,a\nb,\nc,Unknown\nd,b\n"
    graph, _ = read(
        tmp_path, {"e.csv": EDGES, "p.csv": people}, one_hot=(f"plan={unknown}",), missing="unknown", ignore_case=True
    )
    assert graph.columns[-1] == "plan=unknown" and len(graph.columns) == columns
    assert [row[2] for row in _dense(graph)] == [0, 1, 1, 0]


def test_names_of_people_in_another_case(tmp_path: Path) -> None:
    texts = {"e.csv": "source,target\nANN,bob\nbob,Cy\n", "p.csv": "id,f\nAnn,1\nBob,0\nCy,1\n"}
    (line,) = _faults(tmp_path, texts)
    assert "'ANN' and 'Ann' differ in case alone (2 spellings): --ignore-case reads them as one" in line
    graph, notes = read(tmp_path, texts, ignore_case=True)
    assert graph.ids == ["Ann", "Bob", "Cy"] and graph.arrays["edge_index"].T.tolist() == [[0, 1], [1, 2]]
    assert notes == ["names of people in another case, read as one: 2 (--ignore-case)"]
    alone, told = read(tmp_path, {"a.csv": "source,target\nAnn,bob\nbob,ann\n"})
    assert alone.ids == ["Ann", "ann", "bob"] and "'ann' and 'Ann' differ in case alone" in told[0]


def test_options_name_columns_in_any_case(tmp_path: Path) -> None:
    people = PEOPLE.replace("id,plan,age,label", "ID,Plan,Age,Club")
    texts = {"e.csv": EDGES, "p.csv": people}
    options: dict[str, Any] = {"missing": "unknown", "ignore_case": True}
    graph, notes = read(tmp_path, texts, label="club", one_hot=("PLAN=Gold",), ignore=("age",), **options)
    assert graph.columns == ("Plan=Gold", "Plan=unknown") and graph.texts == ("Plan",)
    assert graph.arrays["class_names"].tolist() == ["new", "regular"] and "p.csv: not read: Age (--ignore)" in notes
    gml = 'graph [ node [ id 0 label "a" Smokes 1 Club "x" ] node [ id 1 label "b" Smokes 0 Club "y" ] ]'
    graph, _ = read(tmp_path, {"g.gml": gml}, label="CLUB", ignore=("smokes",))
    assert graph.columns == () and graph.arrays["class_names"].tolist() == ["x", "y"]


def test_a_spreadsheet_is_saved_as_csv(tmp_path: Path) -> None:
    assert "a spreadsheet is not read; save each sheet as CSV" in _faults(tmp_path, {"a.xlsx": ""})[0]


def test_rows_without_a_name_are_counted(tmp_path: Path) -> None:
    texts = {"e.csv": "source,target\na,b\na,\n,b\n", "p.csv": "id,f\na,0\nb,1\n,1\n"}
    _, notes = read(tmp_path, texts, missing="zero")
    assert notes == ["e.csv: rows without a name, left out: 2", "p.csv: rows without a name, left out: 1"]


def test_the_summary_has_columns_and_the_first_people(tmp_path: Path) -> None:
    for name, text in {"e.csv": EDGES, "p.csv": PEOPLE}.items():
        (tmp_path / name).write_text(text)
    options = ImportOptions(one_hot=("plan",), missing="unknown", ignore_case=True)
    document = import_graph([tmp_path / "e.csv", tmp_path / "p.csv"], options=options)
    assert document["read"] == {
        "people": ["a", "b", "c"],
        "columns": [
            {"name": "plan", "kind": "text, 2 values", "first": ["Gold", "Gold", "unknown"]},
            {"name": "age", "kind": "0 or 1", "first": ["1", "0", "0"]},
            {"name": "age=unknown", "kind": "0 or 1", "first": ["0", "1", "0"]},
            {"name": "class", "kind": "2 classes", "first": ["regular", "regular", "regular"]},
        ],
        "more_columns": 0,
    }
    assert len(document["left_out"]) == 4 and document["warnings"] == []
