"""Edges between names, and rows of features of which only what is not zero is kept."""

from __future__ import annotations

import numpy as np

from strategies.importing.parts import FeatureRows, FoundGraph, named_edges


def test_names_are_numbered_in_the_order_of_their_first_edge() -> None:
    found = named_edges("e.csv", [(2, "b", "a"), (5, "a", "c")])
    assert found.names == ["b", "a", "c"]
    np.testing.assert_array_equal(found.ends, [[0, 1], [1, 2]])
    np.testing.assert_array_equal(found.lines, [2, 5])


def test_no_edges() -> None:
    found = named_edges("e.csv", [])
    assert found.ends.shape == (2, 0) and found.names == []


def test_rows_of_features_are_sparse_and_keep_nan() -> None:
    rows = FeatureRows()
    rows.add([0.0, 2.0, 0.0])
    rows.add([0.0, 0.0, 0.0])
    rows.add([float("nan"), 0.0, -1.0])
    np.testing.assert_array_equal(rows.matrix(3).toarray(), [[0, 2, 0], [0, 0, 0], [np.nan, 0, -1]])
    assert rows.matrix(3).nnz == 3
    assert FeatureRows().matrix(0).shape == (0, 0)


def test_place_of_a_feature() -> None:
    named = FoundGraph("p.csv", {}, places=["p.csv: row 2"], columns=("age",))
    assert named.place(0, 0) == "p.csv: row 2, column age"
    assert FoundGraph("g.npz", {}).place(4, 7) == "g.npz: row 4, column 7"
