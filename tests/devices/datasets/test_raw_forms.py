"""Readers of published forms that are not on disk, on small files of the same form."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ldpsim.devices.datasets import load


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
