"""Ids of open collections."""

from __future__ import annotations

from pathlib import Path

from ldpsim.devices.enrolment import open_collections


def test_an_id_stays_until_its_collection_is_closed(tmp_path: Path) -> None:
    assert open_collections.open_collection(tmp_path, "a", "1") == "1"
    assert open_collections.open_collection(tmp_path, "a", "2") == "1"
    assert open_collections.open_collection(tmp_path, "b", "3") == "3"
    open_collections.close(tmp_path, "a")
    assert open_collections.ids(tmp_path) == {"b": "3"}
    open_collections.close(tmp_path, "b")
    assert open_collections.ids(tmp_path) == {} and list(tmp_path.iterdir()) == []
