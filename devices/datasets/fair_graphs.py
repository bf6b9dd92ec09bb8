"""German and Student: categorical attributes of people, semi-synthetic edges (Bhaila et al., RGNN).

A feature row is the 0/1 coding that RGNN uses. ``facts.domains`` lists the attributes in
the order of their columns: an attribute of two categories is one column (its code), one
of k > 2 categories is k columns of which exactly one is 1. :func:`categories` goes back.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import checked_numbers
from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.files import DatasetEntry, Form
from ldpsim.devices.datasets.npz_file import read_npz_file
from ldpsim.devices.facts import LARGEST_SIZE, PublicFacts

_SOURCE = "https://github.com/karuna-bhaila/RGNN, RGNN/datasets/{}, as arrays edge_index, x, cat_card, labels"


def columns_of(facts: PublicFacts) -> tuple[slice, ...]:
    """Return, for each categorical attribute, the columns of the features that code it."""
    widths = [1 if size == 2 else size for size in facts.domains]
    ends = np.cumsum(widths)
    return tuple(slice(int(end - width), int(end)) for end, width in zip(ends, widths, strict=True))


def categories(population: Population) -> NDArray[np.int64]:
    """Return the category codes of everybody, int64 (n, number of attributes).

    Column j has codes 0..domains[j]-1; it follows the order of ``facts.domains``.
    """
    dense = np.zeros((len(population), population.facts.d), np.int64)
    dense[np.repeat(np.arange(len(population)), np.diff(population.feature_indptr)), population.feature_indices] = 1
    parts = (dense[:, span] for span in columns_of(population.facts))
    return np.stack([part[:, 0] if part.shape[1] == 1 else part.argmax(axis=1) for part in parts], axis=1)


def _read(file: str, name: str, folder: Path) -> Population:
    with np.load(folder / file, allow_pickle=False) as arrays:
        sizes = checked_numbers(f"{file}: cat_card", arrays["cat_card"], LARGEST_SIZE, first=2).tolist()
    # the coding puts attributes of two categories first, each group in its own order
    domains = tuple(sorted(sizes, key=lambda size: size > 2))
    population = read_npz_file(name, folder / file, domains=domains)
    for span in columns_of(population.facts):
        if span.stop - span.start > 1:
            inside = (population.feature_indices >= span.start) & (population.feature_indices < span.stop)
            rows = np.repeat(np.arange(len(population)), np.diff(population.feature_indptr))[inside]
            wrong = np.flatnonzero(np.bincount(rows, minlength=len(population)) != 1)
            if len(wrong):
                raise ValueError(f"{file}: row {wrong[0]}, columns {span.start}..{span.stop - 1}: not exactly one 1")
    return population


def _entry(name: str, nodes: int, edges: int, features: int) -> DatasetEntry:
    file = f"{name}.npz"
    return DatasetEntry(
        name, _SOURCE.format(name), nodes, edges, features, 2, (Form(".", (file,), partial(_read, file)),)
    )


ENTRIES = (_entry("german", 955, 9990, 46), _entry("student", 577, 4243, 60))
