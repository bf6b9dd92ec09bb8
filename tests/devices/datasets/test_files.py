"""Missing files, downloads that fail or break, names that do not exist."""

from __future__ import annotations

import io
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from ldpsim.devices.datasets import TABLE, files, load


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: Any, **__: Any) -> None:
        raise OSError("Network is\nunreachable")

    monkeypatch.setattr(urllib.request, "urlopen", unreachable)


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []

    def answer(address: str, **_: Any) -> io.BytesIO:
        asked.append(address)
        return io.BytesIO(b"raw")

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    return asked


@pytest.mark.parametrize("name", TABLE)
def test_missing_files_are_named_in_one_line(name: str, tmp_path: Path, offline: None) -> None:
    entry = TABLE[name]
    with pytest.raises(ValueError, match=rf"^{name}: not on disk") as caught:
        load(name, data_dir=tmp_path)
    text = str(caught.value)
    assert "\n" not in text
    assert f"{', '.join(entry.forms[0].files)} into {tmp_path / entry.forms[0].folder}" in text
    assert entry.source in text and "http" in text
    assert ("Network is unreachable" in text) == bool(entry.url)
    assert list(tmp_path.iterdir()) == []


def test_a_download_ends_in_the_data_folder(tmp_path: Path, online: list[str]) -> None:
    entry = TABLE["cora"]
    form = files.locate(entry, tmp_path / "new")
    found = {path.name: path for path in (tmp_path / "new").rglob("*")}
    assert set(found) == {"Cora", "raw", *form.files}
    assert found["ind.cora.x"].read_bytes() == b"raw" and found["ind.cora.x"].stat().st_mode & 0o777 == 0o644
    assert online == [f"{entry.url}/{name}" for name in form.files]


def test_a_broken_download_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def once(address: str, **_: Any) -> io.BytesIO:
        if address.endswith(".graph"):
            raise OSError("connection reset")
        return io.BytesIO(b"raw")

    monkeypatch.setattr(urllib.request, "urlopen", once)
    with pytest.raises(ValueError, match="the download failed: connection reset"):
        files.locate(TABLE["cora"], tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("wrong", "near"), [("coar", "cora"), ("Citeseer", "citeseer"), ("pub-med", "pubmed")])
def test_unknown_name_gets_the_nearest(wrong: str, near: str) -> None:
    with pytest.raises(ValueError, match=f"--dataset {wrong}: no such data set; did you mean .*{near}"):
        load(wrong)
