"""Pickles from strangers: arrays come back, and nothing that a file names is run."""

from __future__ import annotations

import os
import pickle
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ldpsim.devices.datasets import TABLE, load
from ldpsim.devices.datasets.planetoid import load_plain_pickle

ARRAY = np.array([[0.5, 0], [3, 4]])


class Runs:
    """An object whose pickle names a function and its arguments."""

    def __init__(self, function: Any, *given: Any) -> None:
        self.call = function, given

    def __reduce__(self) -> Any:
        return self.call


def _written(path: Path, content: Any, protocol: int = 2) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content, protocol=protocol))
    return path


@pytest.mark.parametrize("protocol", [2, 4])
def test_arrays_and_lists_come_back(tmp_path: Path, protocol: int) -> None:
    for array in (ARRAY, ARRAY.T, ARRAY.astype(">i4"), np.array([True, False])):
        found = load_plain_pickle(_written(tmp_path / "array", array, protocol))
        assert found.dtype == array.dtype and np.array_equal(found, array)
    matrix = load_plain_pickle(_written(tmp_path / "matrix", csr_matrix(ARRAY), protocol))
    assert np.array_equal(matrix.toarray(), ARRAY)
    assert load_plain_pickle(_written(tmp_path / "dict", {0: [1, 2], 1: []}, protocol)) == {0: [1, 2], 1: []}


@pytest.mark.parametrize("part", ["allx", "ally", "graph"])
@pytest.mark.parametrize("deep", [False, True])
def test_no_function_of_a_data_folder_is_run(tmp_path: Path, data_dir: Path, part: str, deep: bool) -> None:
    form = TABLE["cora"].forms[0]
    shutil.copytree(data_dir / form.folder, tmp_path / form.folder, copy_function=shutil.copyfile)
    mark = tmp_path / "was run"
    hostile = Runs(os.mkdir, str(mark))
    _written(tmp_path / form.folder / f"ind.cora.{part}", {0: [hostile]} if deep else hostile)
    with pytest.raises(ValueError, match=rf"ind\.cora\.{part} .*names posix\.mkdir") as told:
        load("cora", data_dir=tmp_path)
    assert not mark.exists() and "\n" not in str(told.value)


def _type(code: str) -> bytes:
    """Return a pickle of an array of one number whose type is what is given."""
    content: bytes = pickle.dumps(np.zeros(1), protocol=2)
    return content.replace(b"X\x02\x00\x00\x00f8", b"X" + struct.pack("<I", len(code)) + code.encode())


@pytest.mark.parametrize(
    "content",
    [
        np.array([{}, 1], object),  # pointers, if their bytes were believed
        np.zeros(2, [("a", "i4")]),
        Runs(getattr, {}, "get"),
        Runs(eval, "1"),
        Runs(np.load, "/etc/passwd"),
        _type("O8"), _type("V8"), _type("f7"), _type("U999999999"),
        pickle.dumps(np.zeros((2, 3)), protocol=2).replace(b"K\x02K\x03", b"K\x7fK\x7f"),  # bytes for fewer numbers
        pickle.dumps(np.zeros(3), protocol=2)[:-30],
        b"\x80\x04\x8e" + struct.pack("<Q", 1 << 46) + b"x.",  # a text of 70 TB
        b"", b"no pickle", b"\x80\x02cnumpy\nndarray\n.",
        csr_matrix((np.ones(1), np.array([5]), np.array([0, 1])), shape=(1, 9)),  # its width is changed below
    ],
    ids=range(16),
)  # fmt: skip
def test_everything_else_is_refused_in_one_line(tmp_path: Path, content: Any) -> None:
    if isinstance(content, csr_matrix):
        content._shape = (1, 5)  # column 5 lies outside: scipy would write there
    file = _written(tmp_path / "file", content)
    with pytest.raises(ValueError, match="no pickle of arrays") as told:
        load_plain_pickle(file)
    assert "\n" not in str(told.value)


def test_a_long_list_named_by_many_nodes_is_no_graph(tmp_path: Path, data_dir: Path) -> None:
    form = TABLE["cora"].forms[0]
    shutil.copytree(data_dir / form.folder, tmp_path / form.folder, copy_function=shutil.copyfile)
    ends = [1] * 20_000
    _written(tmp_path / form.folder / "ind.cora.graph", dict.fromkeys(range(2000), ends))  # 40 million edges
    with pytest.raises(ValueError, match=r"ind\.cora\.graph is no dict of lists of node numbers"):
        load("cora", data_dir=tmp_path)
