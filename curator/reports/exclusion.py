"""Reports without the answers of some people, as if their devices had never answered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from ldpsim.curator.reports.reports import Reports, joined_reports
from ldpsim.devices.array_types import BoolArray
from ldpsim.devices.mechanisms.stacked_reports import CATEGORIES, ones_at


def silenced(reports: Reports, people: BoolArray) -> Reports:
    """Return the reports that the curator would have if these people, bool (n,), had not answered."""
    if not people.any():
        return reports
    if reports.parts:
        return joined_reports([silenced(part, people) for part in reports.parts])
    arrays = {name: _without_rows(array, people, name) for name, array in reports.arrays.items()}
    return replace(reports, answered=reports.answered & ~people, arrays=arrays)


def without_ones(ones: csr_array, dropped: BoolArray) -> csr_array:
    """bool CSR: the ones without those at these places of ``indices``, bool (number of ones,)."""
    before = np.concatenate([[0], np.cumsum(~dropped)])
    remaining: csr_array = ones_at(ones.shape, before[ones.indptr].astype(ones.indptr.dtype), ones.indices[~dropped])
    return remaining


def _without_rows(array: Any, people: BoolArray, name: str) -> Any:
    """Return an array of reports with nothing in the rows of these people."""
    if issparse(array):
        dropped = np.repeat(people, np.diff(array.indptr))
        places = without_ones(array, dropped)
        if array.dtype == np.bool_:
            return places
        return csr_array((array.data[~dropped], places.indices, places.indptr), shape=array.shape)
    result = array.copy()
    result[people] = -1 if name in CATEGORIES and result.ndim == 1 else 0
    return result
