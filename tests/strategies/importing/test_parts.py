"""Edges between names, tables of people, and the places that messages name."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ldpsim.strategies.importing.parts import FoundGraph, PeopleTable, named_edges


def test_names_are_numbered_in_the_order_of_their_first_edge() -> None:
    found = named_edges("e.csv", [(2, "b", "a"), (5, "a", "c")])
    assert found.names == ["b", "a", "c"]
    np.testing.assert_array_equal(found.ends, [[0, 1], [1, 2]])
    np.testing.assert_array_equal(found.lines, [2, 5])


def test_no_edges() -> None:
    found = named_edges("e.csv", [])
    assert found.ends.shape == (2, 0) and found.names == []


def test_rows_of_a_table_and_their_places() -> None:
    cells, masks = pd.DataFrame({"age": [1.0, 2.0, 3.0]}), pd.DataFrame({"train": [0.0, 1.0, 0.0]})
    table = PeopleTable("p.csv", ["a", "b", "a"], [2, 3, 5], ("id", "age"), cells, ("age",), masks=masks)
    assert (table.place(2), table.place_of("b")) == ("p.csv: row 5", "p.csv: row 3")
    assert table.place_of("zed") == "p.csv: no row for 'zed'"
    taken = table.taken([2, 1])
    assert (taken.ids, taken.rows, taken.cells["age"].tolist(), taken.masks["train"].tolist()) == (
        ["a", "b"], [5, 3], [3.0, 2.0], [0.0, 1.0]
    )  # fmt: skip


def test_place_of_a_feature() -> None:
    named = FoundGraph("p.csv", {}, places=lambda row, column: f"p.csv: row {row + 2}", columns=("age",))
    assert named.place(0, 0) == "p.csv: row 2, column age"
    assert FoundGraph("g.npz", {}).place(4, 7) == "g.npz: row 4, column 7"
