"""Features brought into the public range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.devices.data.population import WrongFeature
from ldpsim.strategies.importing.scaling import rescaled

TABLE = np.array([[0.0, -2.0, 5.0], [4.0, 2.0, 5.0], [1.0, 0.0, 5.0]])


def _arrays(table: np.ndarray) -> dict[str, Any]:
    made = csr_array(table)
    return {"indptr": made.indptr, "indices": made.indices, "values": made.data, "num_features": table.shape[1]}


def _scaled(table: np.ndarray, scale: str, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    found = rescaled("g.csv", _arrays(table), scale, low, high)
    return csr_array((found["values"], found["indices"], found["indptr"]), shape=table.shape).toarray()


def test_minmax_counts_zeros_and_makes_a_constant_zero() -> None:
    np.testing.assert_allclose(_scaled(TABLE, "minmax"), [[0, 0, 0], [1, 1, 0], [0.25, 0.5, 0]])


def test_minmax_stays_sparse_where_every_smallest_value_is_0() -> None:
    table = np.array([[0.0, 3.0], [2.0, 0.0], [4.0, 0.0]])
    np.testing.assert_allclose(_scaled(table, "minmax"), [[0, 1], [0.5, 0], [1, 0]])
    assert len(rescaled("g.csv", _arrays(table), "minmax", 0, 1)["values"]) == 3


def test_clip_and_binary_change_each_value_alone() -> None:
    np.testing.assert_array_equal(_scaled(TABLE, "clip", -1, 3), [[0, -1, 3], [3, 2, 3], [1, 0, 3]])
    np.testing.assert_array_equal(_scaled(TABLE, "binary"), [[0, 1, 1], [1, 1, 1], [1, 0, 1]])


def test_no_features() -> None:
    assert _scaled(np.zeros((3, 0)), "minmax").shape == (3, 0)


@pytest.mark.parametrize("column", [0, 2])
@pytest.mark.parametrize("scale", ["minmax", "clip", "binary"])
def test_a_value_that_is_not_finite_is_named(scale: str, column: int) -> None:
    table = TABLE.copy()
    table[1, column] = np.inf
    with pytest.raises(WrongFeature, match=rf"g\.csv: row 1, column {column}: feature that is not a finite number"):
        _scaled(table, scale)
