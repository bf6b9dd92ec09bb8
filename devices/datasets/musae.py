"""Facebook page-page and GitHub of MUSAE (Rozemberczki, Allen and Sarkar, 2021).

PyG's classes of these names hold another version (128 dense features); here are the
published binary ones, from one ``.npz`` or from the files as SNAP publishes them.
"""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.datasets.files import DatasetEntry, Form
from ldpsim.devices.datasets.npz_file import read_npz_file


def read_raw(
    folder: Path, edges: str, features: str, target: str, column: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Read MUSAE's edge, feature and target files.

    Returns:
        edges (2, m), feature row starts (n + 1,), feature columns (nnz,) sorted and once
        a row, and the text of the target ``column`` for each node.

    Raises:
        ValueError: where the files do not number the nodes 0..n-1 or lack the column.
    """
    with (folder / target).open(newline="", encoding="utf-8") as lines:
        table = list(csv.DictReader(lines))
    if not table or "id" not in table[0] or column not in table[0]:
        raise ValueError(f"{target}: the columns id and {column} are needed")
    targets = {int(line["id"]): line[column] for line in table}
    n = len(table)
    if sorted(targets) != list(range(n)):
        raise ValueError(f"{target}: the ids must be 0..{n - 1}, each once")
    words: dict[str, Any] = json.loads((folder / features).read_text(encoding="utf-8"))
    rows = []
    for node in range(n):
        if str(node) not in words:
            raise ValueError(f"{features}: node {node} has no list of features")
        rows.append(np.unique(np.asarray(words[str(node)], dtype=np.int64)))
    pairs = np.loadtxt(folder / edges, delimiter=",", skiprows=1, dtype=np.int64, ndmin=2).T
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return pairs, indptr, np.concatenate(rows), [targets[node] for node in range(n)]


def _read_npz(file: str, name: str, folder: Path) -> Population:
    return read_npz_file(name, folder / file)


def _read_raw(
    files: tuple[str, str, str], column: str, d: int, classes: dict[str, str], name: str, folder: Path
) -> Population:
    edges, indptr, indices, targets = read_raw(folder, *files, column)
    for node, text in enumerate(targets):
        if text not in classes:
            raise ValueError(f"{files[2]}: node {node} has class {text!r}, known are {', '.join(classes)}")
    place = {text: label for label, text in enumerate(classes)}
    labels = np.array([place[text] for text in targets])
    return build_population(
        name, n=len(labels), d=d, edges=edges, feature_indptr=indptr, feature_indices=indices, feature_values=None,
        labels=labels, classes=len(classes), class_names=tuple(classes.values()),
    )  # fmt: skip


def _entry(
    name: str, snap: str, files: tuple[str, str, str], column: str, classes: dict[str, str], size: tuple[int, int, int]
) -> DatasetEntry:
    nodes, edges, features = size
    forms = (
        Form(".", (f"{name}.npz",), partial(_read_npz, f"{name}.npz")),
        Form(snap, files, partial(_read_raw, files, column, features, classes)),
    )
    source = f"https://snap.stanford.edu/data/{snap}.zip (benedekrozemberczki/MUSAE)"
    return DatasetEntry(name, source, nodes, edges, features, len(classes), forms)


ENTRIES = (
    _entry(
        "facebook", "facebook_large",
        ("musae_facebook_edges.csv", "musae_facebook_features.json", "musae_facebook_target.csv"), "page_type",
        {page: page for page in ("company", "tvshow", "politician", "government")}, (22470, 170823, 4714),
    ),
    _entry(
        "github", "git_web_ml",
        ("musae_git_edges.csv", "musae_git_features.json", "musae_git_target.csv"), "ml_target",
        {"0": "web", "1": "ml"}, (37700, 289003, 4005),
    ),
)  # fmt: skip
