"""Readers of published forms that are not on disk, on small files of the same form."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ldpsim.devices.datasets import TABLE, load


def _musae(folder: Path, prefix: str, target: str, rows: list[str], words: dict[str, list[int]]) -> None:
    folder.mkdir(parents=True)
    (folder / f"{prefix}_edges.csv").write_text("id_1,id_2\n0,1\n1,2\n2,3\n3,3\n1,0\n")
    (folder / f"{prefix}_features.json").write_text(json.dumps(words))
    (folder / f"{prefix}_target.csv").write_text(target + "\n" + "\n".join(rows) + "\n")


WORDS = {"0": [7841, 2], "1": [5, 5], "2": [], "3": [0]}


@pytest.mark.parametrize("folder", ["lastfm_asia", "lasftm_asia"])
def test_lastfm_keeps_the_ten_countries(tmp_path: Path, folder: str) -> None:
    _musae(tmp_path / folder, "lastfm_asia", "id,target", ["0,17", "1,3", "2,1", "3,0"], WORDS)
    population = load("lastfm", data_dir=tmp_path)
    assert (population.facts.n, population.facts.d, population.facts.classes) == (3, 7842, 10)
    np.testing.assert_array_equal(population.labels, [9, 1, 0])
    np.testing.assert_array_equal(population.edges, [[0], [1]])
    np.testing.assert_array_equal(population.record(0).feature_indices, [2, 7841])
    np.testing.assert_array_equal(population.record(1).feature_indices, [5])
    np.testing.assert_array_equal(population.record(2).feature_indices, [0])


def test_facebook_as_snap_publishes_it(tmp_path: Path) -> None:
    rows = ["0,11,A,tvshow", '1,12,"B, and more",company', "2,13,C,government", "3,14,D,politician"]
    words = {"0": [4713], "1": [1], "2": [1], "3": [0]}
    _musae(tmp_path / "facebook_large", "musae_facebook", "id,facebook_id,page_name,page_type", rows, words)
    population = load("facebook", data_dir=tmp_path)
    np.testing.assert_array_equal(population.labels, [1, 0, 3, 2])
    assert (population.facts.d, population.edges.shape[1]) == (4714, 3)
    assert population.facts.class_names == ("company", "tvshow", "politician", "government")


class Runs:
    """An object whose pickle names a function and its arguments."""

    def __init__(self, function: Any, *given: Any) -> None:
        self.call = function, given

    def __reduce__(self) -> Any:
        return self.call


def _outside() -> csr_matrix:
    """Return a matrix with a column outside its width: scipy would write there."""
    matrix = csr_matrix((np.ones(1), np.array([5]), np.array([0, 1])), shape=(1, 9))
    matrix._shape = (1, 5)
    return matrix


@pytest.mark.parametrize(("part", "content", "message"), [
    ("allx", Runs(os.mkdir, "was run"), "names posix.mkdir"),
    ("graph", {0: [Runs(os.mkdir, "was run")]}, "names posix.mkdir"),
    ("ally", Runs(getattr, {}, "get"), "__builtin__.getattr"), ("ty", b"no pickle", "no pickle of arrays"),
    ("y", np.array([{}, 1], object), "no table of numbers"), ("tx", _outside(), "indices"),
    ("graph", dict.fromkeys(range(2000), [1] * 20_000), "no dict of lists of node numbers"),  # 40 million edges
])  # fmt: skip
def test_a_pickle_is_arrays_of_numbers_and_nothing_that_it_names_is_run(
    part: str, content: Any, message: str, tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = TABLE["cora"].forms[0]
    shutil.copytree(data_dir / form.folder, tmp_path / form.folder, copy_function=shutil.copyfile)
    data = content if isinstance(content, bytes) else pickle.dumps(content, protocol=2)
    (tmp_path / form.folder / f"ind.cora.{part}").write_bytes(data)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message) as told:
        load("cora", data_dir=tmp_path)
    assert "\n" not in str(told.value) and not (tmp_path / "was run").exists()
