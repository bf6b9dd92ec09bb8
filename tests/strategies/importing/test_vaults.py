"""Files of a deployment: what a device enrols with is exactly its person's record, and nobody else's."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.enrolment.record_file import read_own_data
from ldpsim.strategies.importing.graph_import import import_graph

EDGES = "source,target\nann,bob\nbob,cy\ndee,ann\n"
PEOPLE = (
    "id,age,tall,label,train_mask,val_mask,test_mask\n"
    "ann,0.1,1,x,1,0,0\nbob,0,1,y,0,1,0\ncy,0,0,,0,0,0\ndee,1,1,y,0,0,1\n"
)


def _import(folder: Path, people: str = PEOPLE) -> dict[str, Any]:
    (folder / "edges.csv").write_text(EDGES)
    (folder / "people.csv").write_text(people)
    return import_graph([folder / "edges.csv", folder / "people.csv"], vaults=folder / "vaults")


def test_every_device_gets_its_own_record(tmp_path: Path) -> None:
    found = _import(tmp_path)
    folder = tmp_path / "vaults"
    assert found["vaults"] == {
        "folder": str(folder), "records": 4, "public_labels": 2,
        "next": f"ldpsim device policy --facts {folder}/facts.json --method hogs --epsilon 8 > policy.json",
    }  # fmt: skip
    features = [{0: np.float32(0.1), 1: 1.0}, {1: 1.0}, {}, {0: 1.0, 1: 1.0}]
    for node, (near, label) in enumerate([([1, 3], 0), ([0, 2], 1), ([1], -1), ([0], 1)]):
        population, residents = read_own_data(folder / f"record-{node}.json")
        record = population.record(node)
        assert residents == (node,) and record.neighbours.tolist() == near and record.label == label
        assert dict(zip(record.feature_indices.tolist(), record.feature_values.tolist(), strict=True)) == features[node]
        assert len(population.feature_indices) == len(features[node])  # nobody else is in it
        assert len(population.neighbour_indices) == len(near) and sum(population.labels >= 0) == (label >= 0)
    assert (folder / "people.csv").read_text() == "node,id\n0,ann\n1,bob\n2,cy\n3,dee\n"
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_without_masks_no_label_is_public(tmp_path: Path) -> None:
    people = "".join(",".join(line.split(",")[:4]) + "\n" for line in PEOPLE.splitlines())
    found = _import(tmp_path, people)["vaults"]
    assert found["public_labels"] == 0 and "--epsilon 8 --eps-labels 1 " in found["next"]
    assert json.loads((tmp_path / "vaults" / "facts.json").read_text())["labels"] == {}
    assert read_own_data(tmp_path / "vaults" / "record-0.json")[0].record(0).label == 0  # its own device has it


def test_a_folder_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "vaults").mkdir()
    with pytest.raises(ValueError, match="--vaults .*vaults: it is there already; give the name of a new folder"):
        _import(tmp_path)
    assert list((tmp_path / "vaults").iterdir()) == []
    with pytest.raises(ValueError, match="--vaults .*: no such folder: .*none"):
        import_graph([tmp_path / "edges.csv"], vaults=tmp_path / "none" / "vaults")


def test_a_fault_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="column age"):
        _import(tmp_path, PEOPLE.replace("0.1", "x"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.csv", "people.csv"]


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(OSError, match="No space left"):
        _import(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.csv", "people.csv"]


def test_people_of_whom_nothing_can_be_asked_have_no_next_command(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text(EDGES)
    assert import_graph([tmp_path / "edges.csv"], vaults=tmp_path / "v")["vaults"]["next"] is None
