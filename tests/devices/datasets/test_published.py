"""Published data sets: readers, figures, downloads, missing files, and pickles that nobody trusts."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import shutil
import subprocess
import urllib.error
import urllib.request
from email.message import Message
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets import TABLE, files, load


def _musae(folder: Path, prefix: str, target: str, rows: list[str], words: dict[str, list[int]]) -> None:
    folder.mkdir(parents=True)
    (folder / f"{prefix}_edges.csv").write_text("id_1,id_2\n0,1\n1,2\n2,3\n3,3\n1,0\n")
    (folder / f"{prefix}_features.json").write_text(json.dumps(words))
    (folder / f"{prefix}_target.csv").write_text(target + "\n" + "\n".join(rows) + "\n")


WORDS = {"0": [7841, 2], "1": [5, 5], "2": [], "3": [0]}


def _blob(file: Path) -> str:
    """Return the hash that git gives a file, by git itself."""
    return subprocess.run(["git", "hash-object", file], check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("folder", ["lastfm_asia", "lasftm_asia"])
def test_lastfm_keeps_the_ten_countries(tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _musae(tmp_path / folder, "lastfm_asia", "id,target", ["0,17", "1,3", "2,1", "3,0"], WORDS)
    file = tmp_path / folder / "lastfm_asia_features.json"
    with pytest.raises(ValueError, match=f"{file} is not the original: git gives it the hash {_blob(file)}, not e8606"):
        load("lastfm", data_dir=tmp_path)
    for form in TABLE["lastfm"].forms:
        monkeypatch.setitem(form.__dict__, "blobs", ((file.name, _blob(file)),))
    population = load("lastfm", data_dir=tmp_path)
    assert (population.facts.n, population.facts.d, population.facts.classes) == (3, 7842, 10)
    np.testing.assert_array_equal(population.labels, [9, 1, 0])
    np.testing.assert_array_equal(population.edges, [[0], [1]])
    np.testing.assert_array_equal(population.record(0).feature_indices, [2, 7841])
    np.testing.assert_array_equal(population.record(1).feature_indices, [5])
    np.testing.assert_array_equal(population.record(2).feature_indices, [0])


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


def _coded(folder: Path, **changes: Any) -> None:
    """Write people whose first attribute has three values, the second two and the third four."""
    rows = np.eye(3)[[0, 1, 2, 0]], np.array([[1], [0], [1], [0]]), np.eye(4)
    arrays = {"x": np.hstack(rows), "edge_index": np.array([[0, 1], [1, 2]]), "labels": np.array([0, 1, 0, 1]),
              "cat_card": np.array([3, 2, 4])}  # fmt: skip
    # columns of attributes with two values come first
    arrays["x"] = arrays["x"][:, [3, 0, 1, 2, 4, 5, 6, 7]]
    np.savez(folder / "student.npz", **{**arrays, **changes})


@pytest.mark.parametrize(("row", "column", "said"), [
    (2, 1, r"row 2, columns 1\.\.3: not exactly one 1"), (3, 4, r"row 3, columns 4\.\.7: not exactly one 1"),
])  # fmt: skip
def test_attributes_of_several_values_have_one_1(row: int, column: int, said: str, tmp_path: Path) -> None:
    _coded(tmp_path)
    assert load("student", data_dir=tmp_path).facts.domains == (2, 3, 4)
    with np.load(tmp_path / "student.npz") as stored:
        x = stored["x"]
    x[row, column] = 1 - x[row, column]
    _coded(tmp_path, x=x)
    with pytest.raises(ValueError, match=said):
        load("student", data_dir=tmp_path)


def test_the_first_attribute_is_checked_and_the_columns_are_counted(tmp_path: Path) -> None:
    three = np.eye(3)[[0, 1, 2, 0]]
    _coded(tmp_path, x=three, cat_card=np.array([3]))
    assert load("student", data_dir=tmp_path).facts.domains == (3,)
    _coded(tmp_path, x=np.ones_like(three), cat_card=np.array([3]))
    with pytest.raises(ValueError, match=r"row 0, columns 0\.\.2: not exactly one 1"):
        load("student", data_dir=tmp_path)
    _coded(tmp_path, cat_card=np.array([3, 2]))
    with pytest.raises(ValueError, match="cat_card describes 4 columns, x has 8"):
        load("student", data_dir=tmp_path)


def test_attributes_are_counted_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass over all people for each attribute takes quadratic time."""
    calls, count = [], np.bincount
    monkeypatch.setattr(np, "bincount", lambda *given, **more: (calls.append(1), count(*given, **more))[1])
    found = []
    for attributes in (4, 40):
        calls.clear()
        x = np.tile(np.eye(3)[[0, 1, 2, 0]], attributes)
        _coded(tmp_path, x=x, cat_card=np.full(attributes, 3))
        load("student", data_dir=tmp_path)
        found.append(len(calls))
    assert found[0] == found[1]


# Those that lie in the data folder, each with its published edge homophily.
HOMOPHILY = {
    "deezer-europe": 0.5251, "twitch-de": 0.6322, "twitch-engb": 0.5560, "coauthor-cs": 0.8081, "flickr": 0.2386,
    "facebook100-reed98": 0.5216, "facebook100-amherst41": 0.5306, "cora": 0.8100, "citeseer": 0.7355,
    "lastfm-graph": 0.8836, "citeseer-3312": 0.7377, "citeseer-lcc": 0.7364, "citeseer-full": 0.9494, "pubmed": 0.8024,
    "dblp": 0.8279, "computers": 0.7772, "facebook": 0.8853, "github": 0.8453, "german": 0.9049, "student": 0.8265,
}  # fmt: skip


@cache
def loaded(name: str, root: Path) -> Population:
    return load(name, data_dir=root)


@pytest.mark.parametrize("name", HOMOPHILY)
def test_published_figures(name: str, data_dir: Path) -> None:
    population, entry = loaded(name, data_dir), TABLE[name]
    facts = population.facts
    assert (entry.nodes, entry.features, entry.classes) == (facts.n, facts.d, facts.classes)
    assert entry.edges == population.edges.shape[1]
    assert population.homophily == pytest.approx(HOMOPHILY[name], abs=5e-5)
    assert len(np.unique(population.labels[population.labels >= 0])) == facts.classes
    assert (facts.feature_low, facts.feature_high) == ((0.0, 1.3) if name == "pubmed" else (0.0, 1.0))
    assert name == "pubmed" or np.all(population.feature_values == 1)


def digest_of(edges: Any, rows: Any, columns: Any, labels: Any) -> str:
    """SHA-256 of people: pairs, and entries of features, sorted, and labels, as little-endian int64."""
    order = np.lexsort((columns, rows))
    ends = np.sort(edges, axis=0)
    parts = (ends[:, np.lexsort(ends[::-1])], rows[order], columns[order], labels)
    return hashlib.sha256(b"".join(np.ascontiguousarray(part, "<i8").tobytes() for part in parts)).hexdigest()


@pytest.mark.parametrize("name", ["citeseer-full", "dblp", "computers"])
def test_the_reader_of_pyg_gives_the_same_people(name: str, data_dir: Path) -> None:
    """Of word counts in ``.npz``, the one form of PyG's that holds no pickle. It needs torch, which no device has."""
    form = next(each for each in TABLE[name].forms if (data_dir / each.folder / each.files[0]).is_file())
    theirs = pytest.importorskip("torch_geometric.io").read_npz(str(data_dir / form.folder / form.files[0]))
    rows, columns = theirs.x.nonzero().numpy().T
    once = theirs.edge_index.numpy()[:, (theirs.edge_index[0] < theirs.edge_index[1]).numpy()]
    ours = loaded(name, data_dir)
    own = np.repeat(np.arange(len(ours)), np.diff(ours.feature_indptr))
    assert digest_of(once, rows, columns, theirs.y.numpy()) == digest_of(
        ours.edges, own, ours.feature_indices, ours.labels
    )


def test_other_data_under_a_published_name_are_refused(tmp_path: Path, data_dir: Path) -> None:
    with np.load(data_dir / "flickr.npz", allow_pickle=False) as stored:
        arrays = dict(stored)
    arrays["labels"][7] = 8 - arrays["labels"][7]
    np.savez(tmp_path / "flickr.npz", **arrays)
    with pytest.raises(ValueError, match=r"flickr: flickr.npz in .* has other data than the published ones") as caught:
        load("flickr", data_dir=tmp_path)
    assert "\n" not in str(caught.value)
    assert len(load(str(tmp_path / "flickr.npz"))) == 7575  # under its own path it is a person's own data


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
    assert f"{tmp_path / entry.forms[0].folder}: {', '.join(entry.forms[0].files)}" in text
    assert "put its files there, or name their folder with --data-dir" in text
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


def test_a_server_s_refusal_is_closed_though_its_error_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a server answers 404, the error of urllib is the answer itself, with its connection."""
    answer = io.BytesIO(b"not found")

    def refuse(address: str, **_: Any) -> None:
        raise urllib.error.HTTPError(address, 404, "Not Found", Message(), answer)

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    with pytest.raises(ValueError, match="the download failed: HTTP Error 404: Not Found") as kept:
        files.locate(TABLE["cora"], tmp_path / "new")
    assert answer.closed and kept.tb is not None
