"""A PyG ``Data`` object on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.datasets import load

torch = pytest.importorskip("torch")


def _data(**changes: Any) -> Any:
    from torch_geometric.data import Data

    values = {
        "x": torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]),
        "edge_index": torch.tensor([[0, 1, 1, 3], [1, 0, 2, 3]]),
        "y": torch.tensor([0, 1, 2, 1]),
        **changes,
    }
    return Data(**{key: value for key, value in values.items() if value is not None})


def _save(folder: Path, what: Any) -> str:
    torch.save(what, folder / "graph.pt")
    return str(folder / "graph.pt")


def test_data_object(tmp_path: Path) -> None:
    mask = torch.eye(4, dtype=torch.bool)
    data = _data(train_mask=mask[0] | mask[3], val_mask=mask[1], test_mask=mask[2], num_classes=3)
    population = load(_save(tmp_path, data))
    assert (population.name, population.facts.n, population.facts.d, population.facts.classes) == ("graph", 4, 2, 3)
    np.testing.assert_array_equal(population.edges, [[0, 1], [1, 2]])
    assert population.own_split is not None
    np.testing.assert_array_equal(population.own_split.train, [0, 3])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": None}, "the Data object has no x"),
        ({"y": None}, "the Data object has no y"),
        (
            {"x": torch.tensor([[0.0, 1.0]] * 3 + [[1.0, float("nan")]])},
            "row 3, column 1: feature that is not a finite",
        ),
        ({"x": torch.tensor([[0.0, 1.0]] * 3 + [[2.0, 0.0]])}, r"row 3, column 0: feature outside \[0, 1\]"),
        ({"edge_index": torch.tensor([[0], [9]])}, "edge 0 joins 0 and 9"),
        ({"y": torch.tensor([0.0, 1.0, 0.0, 1.0])}, "labels must be 4 whole numbers"),
        ({"y": torch.tensor([0, 1])}, "labels must be 4 whole numbers"),
        ({"feature_range": torch.tensor([1.0, 1.0])}, "feature_range must be two finite numbers"),
    ],
)
def test_bad_data(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(_save(tmp_path, _data(**changes)))


class _Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("evil"),))


def test_code_in_the_file_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="cannot be read safely") as caught:
        load(_save(tmp_path, {"x": _Evil()}))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "evil").exists()
