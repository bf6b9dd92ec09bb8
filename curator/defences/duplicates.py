"""Equal reports, more of them than chance allows.

An honest report is a given report r with probability at most max over values x of Pr[r | x], whatever the data.
Among N others, therefore, the number of reports equal to the own one is at most Bin(N, that probability), and a group
of equal reports is flagged if its size is beyond the tail. Equal rows of a quiet graph at a large epsilon, or
multi-bit reports of one feature, coincide by honest chance: they are counted, not matched.

Two rows are compared in the bits about all others. Colluders who send one list differ in the bits about themselves.
So rows are compared as they are, and with the own place set to 1.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array, issparse

from ldpsim.curator.defences.defence import Notes, nobody, unused_note
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rows import flipped_rows
from ldpsim.devices.array_types import BoolArray
from ldpsim.devices.mechanisms import GRRFS, Laplace, Mechanism, MultiBit, OneBit


def duplicated(reports: Reports, level: float) -> tuple[BoolArray, Notes]:
    """Flag people whose row or feature report is shared by more people than chance allows."""
    from scipy.stats import binom  # imported where it is needed: the import takes as long as a small run

    tests: list[tuple[str, str, Any, float]] = []
    rows, n = flipped_rows(reports), reports.facts.n
    if rows is not None and not rows.one_end:
        chance, ones = math.exp((n - 2) * math.log1p(-rows.flip)), reports.needed("adjacency")
        tests += [("rows", "adjacency", each, chance) for each in (ones, ones + eye_array(n, dtype=np.bool_))]
    if reports.features is not None and (likely := most_likely(reports.source("features"))) is not None:
        tests.append(("features", "features", reports.features, likely))
    flagged = nobody(reports)
    for _, attribute, matrix, chance in tests:
        people = np.flatnonzero(reports.reported(attribute))
        digests = _digests(matrix)
        sizes = Counter(digests[person] for person in people)
        most = int(binom.isf(level / len(tests), max(0, len(people) - 1), min(1.0, chance)))  # equal ones of the others
        flagged[people] |= np.array([sizes[digests[person]] - 1 > most for person in people], np.bool_)
    if not tests:
        return flagged, unused_note("rows or features under noise of a known distribution")
    return flagged, {"compared": sorted({what for what, *_ in tests})}


def most_likely(mechanism: Mechanism) -> float | None:
    """Return the largest probability of any one report about features; None where it is not known."""
    if isinstance(mechanism, GRRFS):
        right = np.zeros(mechanism.d, np.int64)
        return math.exp(mechanism.log_probability(right, right))
    if isinstance(mechanism, Laplace):
        return math.tanh(mechanism.s / mechanism.t / 2) ** mechanism.d
    if not isinstance(mechanism, OneBit | MultiBit):
        return None
    d, m = mechanism.d, mechanism.m if isinstance(mechanism, MultiBit) else mechanism.d
    return math.exp(m * math.log1p(-mechanism.flip_probability) - math.log(math.comb(d, m)))


def _digests(matrix: Any) -> list[bytes]:
    """Return a digest of each row."""
    if issparse(matrix):
        rows = csr_array(matrix)
        rows.sort_indices()
        cuts = [slice(first, end) for first, end in pairwise(rows.indptr)]
        parts = [rows.indices[cut].tobytes() + b"|" + rows.data[cut].tobytes() for cut in cuts]
    else:
        parts = [row.tobytes() for row in np.ascontiguousarray(matrix)]
    return [hashlib.sha256(part).digest() for part in parts]
