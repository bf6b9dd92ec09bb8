"""Reports without the answers of some people, as if their devices had never answered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from ldpsim.curator.reports.reports import CATEGORIES, Reports, joined_reports
from ldpsim.devices.array_types import BoolArray
from ldpsim.devices.mechanisms.stacked_reports import ones_at


def silenced(reports: Reports, who: BoolArray) -> Reports:
    """Return the reports that the curator would have if these people, bool (n,), had not answered."""
    if not who.any():
        return reports
    if reports.parts:
        return joined_reports([silenced(part, who) for part in reports.parts])
    arrays = {name: _emptied(array, who, name) for name, array in reports.arrays.items()}
    return replace(reports, answered=reports.answered & ~who, arrays=arrays)


def without_ones(ones: csr_array, dropped: BoolArray) -> csr_array:
    """bool CSR: the ones without those at these places of ``indices``, bool (number of ones,)."""
    before = np.concatenate([[0], np.cumsum(~dropped)])
    rest: csr_array = ones_at(ones.shape, before[ones.indptr].astype(ones.indptr.dtype), ones.indices[~dropped])
    return rest


def _emptied(array: Any, who: BoolArray, name: str) -> Any:
    """Return an array of reports with nothing in the rows of these people."""
    if issparse(array):
        dropped = np.repeat(who, np.diff(array.indptr))
        rest = without_ones(array, dropped)
        if array.dtype == np.bool_:
            return rest
        return csr_array((array.data[~dropped], rest.indices, rest.indptr), shape=array.shape)
    left = array.copy()
    left[who] = -1 if name in CATEGORIES and left.ndim == 1 else 0
    return left
