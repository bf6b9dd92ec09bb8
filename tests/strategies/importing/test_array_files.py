"""Files of arrays: what is read without running code from the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from ldpsim.strategies.importing.array_files import read_arrays

X, EDGES = torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([[0], [1]])


def _save(folder: Path, held: Any) -> Path:
    torch.save(held, folder / "g.pt")
    return folder / "g.pt"


def _data() -> Data:
    return Data(x=X, edge_index=EDGES, y=torch.tensor([0, 1]), train_mask=torch.tensor([True, False]), num_classes=4)


@pytest.mark.parametrize("held", [_data(), (_data(), None), (_data().to_dict(), None, Data), _data().to_dict()])
def test_data_objects_and_processed_files(tmp_path: Path, held: Any) -> None:
    arrays, notes = read_arrays(_save(tmp_path, held))
    assert set(arrays) == {"x", "edge_index", "y", "train_mask", "num_classes"} and notes == ()
    np.testing.assert_array_equal(arrays["x"], X)
    assert int(arrays["num_classes"]) == 4


def test_dict_of_dicts_and_of_ends(tmp_path: Path) -> None:
    held = {"ndata": {"feat": X.to_sparse(), "label": torch.tensor([0, 1])}, "edges": (EDGES[0], EDGES[1]), "n": None}
    arrays, _ = read_arrays(_save(tmp_path, held))
    assert set(arrays) == {"ndata.feat", "ndata.label", "edges.0", "edges.1"}
    np.testing.assert_array_equal(arrays["ndata.feat"], X)


def test_python_objects_in_an_npz_stay_unread(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", edge_index=EDGES.numpy(), names=np.array([{"a": 1}], dtype=object))
    arrays, notes = read_arrays(tmp_path / "g.npz")
    assert set(arrays) == {"edge_index"} and notes == ("g.npz: names holds Python objects and is not read",)
    np.savez(tmp_path / "g.npz", graph=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match=r"g\.npz: graph holds Python objects: reading them runs code"):
        read_arrays(tmp_path / "g.npz")


class _Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("evil"),))


def test_code_in_a_file_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "g.npz", graph=np.array([_Evil()], dtype=object))
    with pytest.raises(ValueError, match="runs code"):
        read_arrays(tmp_path / "g.npz")
    with pytest.raises(ValueError, match="cannot be read safely"):
        read_arrays(_save(tmp_path, {"x": _Evil()}))
    assert not (tmp_path / "evil").exists()


def test_something_else(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"g\.pt holds a Tensor, not a PyG Data object or a dict of tensors"):
        read_arrays(_save(tmp_path, X))
    with pytest.raises(ValueError, match="no such file"):
        read_arrays(tmp_path / "none.pt")
