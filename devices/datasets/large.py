"""ogbn-arxiv (Hu et al., 2020) and Reddit (Hamilton, Ying and Leskovec, 2017).

Downloads go through OGB's and PyG's own classes. ogbn-arxiv is then read from OGB's text
files, which needs no further package; Reddit through PyG's class, on links in a scratch
folder, because the class writes into the folder that it reads.
"""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path

import numpy as np

from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.datasets.arrays import csr_of, edges_of, from_pyg, split_of
from ldpsim.devices.datasets.files import DatasetEntry, Form

# Public constants that hold for the published features (averages of word vectors; Reddit
# adds the score and the number of comments). Reddit is for trusted-curator methods: a
# local mechanism over so wide a range would say next to nothing.
ARXIV_RANGE = (-2.0, 2.0)
REDDIT_RANGE = (-1000.0, 1000.0)
_ARXIV_URL = "http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"
_REDDIT_URL = "https://data.dgl.ai/dataset/reddit.zip"
_ARXIV_SPLIT = {"train": "train", "val": "valid", "test": "test"}
_ARXIV_FILES = (
    "raw/edge.csv.gz", "raw/node-feat.csv.gz", "raw/node-label.csv.gz",
    *(f"split/time/{part}.csv.gz" for part in _ARXIV_SPLIT.values()),
)  # fmt: skip
_REDDIT_FILES = ("reddit_data.npz", "reddit_graph.npz")


def _read_arxiv(name: str, folder: Path) -> Population:
    features = np.loadtxt(folder / "raw/node-feat.csv.gz", delimiter=",", dtype=np.float32, ndmin=2)
    edges = np.loadtxt(folder / "raw/edge.csv.gz", delimiter=",", dtype=np.int64, ndmin=2).T
    labels = np.loadtxt(folder / "raw/node-label.csv.gz", delimiter=",", dtype=np.float64, ndmin=1).astype(np.int64)
    indptr, indices, values = csr_of(name, features)
    population = build_population(
        name, n=features.shape[0], d=features.shape[1], edges=edges_of(name, edges), feature_indptr=indptr,
        feature_indices=indices, feature_values=values, labels=labels, classes=40, feature_range=ARXIV_RANGE,
    )  # fmt: skip
    parts = {
        part: np.loadtxt(folder / f"split/time/{file}.csv.gz", dtype=np.int64, ndmin=1)
        for part, file in _ARXIV_SPLIT.items()
    }
    return split_of(name, population, parts)


def _fetch_arxiv(root: Path) -> object:
    try:
        ogb = importlib.import_module("ogb.nodeproppred")
    except ImportError:
        raise ValueError("it needs the package ogb (pip install ogb)") from None
    return ogb.PygNodePropPredDataset("ogbn-arxiv", root=str(root))


def _read_reddit(name: str, folder: Path) -> Population:
    from torch_geometric.datasets import Reddit

    with tempfile.TemporaryDirectory() as scratch:
        raw = Path(scratch) / "raw"
        raw.mkdir()
        for file in _REDDIT_FILES:
            (raw / file).symlink_to((folder / file).resolve())
        data = Reddit(scratch)[0]
        return from_pyg(name, data, classes=41, feature_range=REDDIT_RANGE)


def _fetch_reddit(root: Path) -> object:
    from torch_geometric.datasets import Reddit

    return Reddit(str(root / "Reddit"))


ENTRIES = (
    DatasetEntry(
        "ogbn-arxiv", f"{_ARXIV_URL} (OGB PygNodePropPredDataset)", 169343, 1157799, 128, 40,
        (Form("ogbn_arxiv", _ARXIV_FILES, _read_arxiv),), _fetch_arxiv, _ARXIV_URL,
    ),
    DatasetEntry(
        "reddit", f"{_REDDIT_URL} (PyG Reddit)", 232965, 57307946, 602, 41,
        (Form("Reddit/raw", _REDDIT_FILES, _read_reddit),), _fetch_reddit, _REDDIT_URL,
    ),
)  # fmt: skip
