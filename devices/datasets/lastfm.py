"""LastFM Asia (Rozemberczki and Sarkar, 2020) with its 7,842 binary features.

As in the papers, only people of the ten largest countries are kept (7,083 of 7,624). PyG's
``LastFMAsia`` is another version (128 dense features, all 18 classes).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.datasets.files import DatasetEntry, Form
from ldpsim.devices.datasets.musae import read_raw
from ldpsim.devices.datasets.sampling import induced_population

FEATURES = 7842
# the ten largest of the 18 published countries, a public constant
COUNTRIES = (0, 3, 5, 6, 8, 10, 14, 15, 16, 17)
_FILES = ("lastfm_asia_edges.csv", "lastfm_asia_features.json", "lastfm_asia_target.csv")
_SOURCE = "https://snap.stanford.edu/data/lastfm_asia.zip"
GRAPH_ONLY = "lastfm_asia_graph_only.npz"


def _read(name: str, folder: Path) -> Population:
    edges, indptr, indices, targets = read_raw(folder, *_FILES, "target")
    countries = np.array([int(text) for text in targets])
    place = {country: label for label, country in enumerate(COUNTRIES)}
    labels = np.array([place.get(int(country), -1) for country in countries])
    everybody = build_population(
        name, n=len(labels), d=FEATURES, edges=edges, feature_indptr=indptr, feature_indices=indices,
        feature_values=None, labels=labels, classes=len(COUNTRIES),
    )  # fmt: skip
    kept = np.flatnonzero(labels >= 0)
    if not len(kept):
        raise ValueError(f"{_FILES[2]}: nobody is in one of the ten largest countries {COUNTRIES}")
    return induced_population(everybody, kept)


def _note(root: Path) -> str:
    if (root / GRAPH_ONLY).is_file():
        return f"{GRAPH_ONLY} has the graph and the labels only: the features, {_FILES[1]}, are what is missing"
    return ""


ENTRIES = (
    DatasetEntry(
        "lastfm", _SOURCE, 7083, 25814, FEATURES, len(COUNTRIES),
        # the second is how the published archive spells its folder
        (Form("lastfm_asia", _FILES, _read), Form("lasftm_asia", _FILES, _read)), note=_note,
    ),
)  # fmt: skip
