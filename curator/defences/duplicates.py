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
from collections.abc import Callable

import numpy as np
from scipy.sparse import issparse

from ldpsim.curator.defences.degree import Notes, nobody, silent_on
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rows import flipped_rows
from ldpsim.devices.array_types import BoolArray
from ldpsim.devices.mechanisms import GRRFS, Laplace, Mechanism, MultiBit, OneBit


def duplicated(reports: Reports, level: float) -> tuple[BoolArray, Notes]:
    """Flag people whose row or feature report is shared by more people than chance allows."""
    tests: list[tuple[str, str, Callable[[int], bytes], float]] = []
    rows = flipped_rows(reports)
    if rows is not None and not rows.one_end:
        chance = math.exp((reports.facts.n - 2) * math.log1p(-rows.flip))
        tests += [("rows", "adjacency", row_reader(reports, own_place=own), chance) for own in (False, True)]
    if reports.features is not None and (likely := most_likely(reports.source("features"))) is not None:
        tests.append(("features", "features", feature_reader(reports), likely))
    found = nobody(reports)
    for _, attribute, read, chance in tests:
        people = np.flatnonzero(reports.reported(attribute))
        digests = [hashlib.sha256(read(int(person))).digest() for person in people]
        sizes = Counter(digests)
        most = most_equal(len(people) - 1, chance, level / len(tests))
        found[people] |= np.array([sizes[digest] - 1 > most for digest in digests], np.bool_)
    if not tests:
        return found, silent_on("rows or features under noise of a known law")
    return found, {"compared": sorted({what for what, *_ in tests})}


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
    sets = math.lgamma(d + 1) - math.lgamma(m + 1) - math.lgamma(d - m + 1)
    return math.exp(m * math.log1p(-mechanism.flip_probability) - sets)


def most_equal(others: int, chance: float, level: float) -> int:
    """Return how many of the others may equal a report: more do with a probability of at most the level."""
    from scipy.stats import binom  # imported where it is needed: the import takes as long as a small run

    return int(binom.isf(level, others, min(1.0, chance))) if others > 0 else 0


def row_reader(reports: Reports, *, own_place: bool) -> Callable[[int], bytes]:
    """Return a reader of a person's row: the nodes it names, with the person's own number if asked for."""
    ones = reports.needed("adjacency")

    def read(person: int) -> bytes:
        named = ones.indices[ones.indptr[person] : ones.indptr[person + 1]].astype(np.int64)
        return (np.union1d(named, [person]) if own_place else named).tobytes()

    return read


def feature_reader(reports: Reports) -> Callable[[int], bytes]:
    """Return a reader of a person's feature report."""
    features = reports.needed("features")
    if not issparse(features):
        return lambda person: np.ascontiguousarray(features[person]).tobytes()

    def read(person: int) -> bytes:
        place = slice(features.indptr[person], features.indptr[person + 1])
        return features.indices[place].tobytes() + b"|" + features.data[place].tobytes()

    return read
