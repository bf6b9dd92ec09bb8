"""CiteSeer with 3,312 nodes and its largest component, 2,110 nodes (Shchur et al., 2018)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ldpsim.devices.array_types import checked_numbers
from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.files import DatasetEntry, Form
from ldpsim.devices.datasets.npz_file import read_npz_file
from ldpsim.devices.datasets.sampling import induced_population

_FILE = "citeseer_lcc.npz"
_SOURCE = (
    "https://github.com/shchur/gnn-benchmark data/npz/citeseer.npz, as arrays "
    "edge_index, indptr, indices, labels, num_features, class_names, lcc"
)


def _read_all(name: str, folder: Path) -> Population:
    return read_npz_file(name, folder / _FILE)


def _read_component(name: str, folder: Path) -> Population:
    with np.load(folder / _FILE, allow_pickle=False) as arrays:
        nodes = arrays["lcc"]
    population = read_npz_file(name, folder / _FILE)
    return induced_population(population, checked_numbers(f"{_FILE}: lcc", nodes, len(population)))


ENTRIES = (
    DatasetEntry("citeseer-3312", _SOURCE, 3312, 4536, 3703, 6, (Form(".", (_FILE,), _read_all),)),
    DatasetEntry("citeseer-lcc", _SOURCE, 2110, 3668, 3703, 6, (Form(".", (_FILE,), _read_component),)),
)
