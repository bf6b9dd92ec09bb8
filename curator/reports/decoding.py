"""From bytes to arrays: everybody's reports of one mechanism, stacked.

===================  =============  ==================================================================
mechanism            field          form; rows of silent devices are zero (labels: -1)
===================  =============  ==================================================================
randomized_response  adjacency      bool CSR (n, n), row i the ones that i reported
clear_adjacency      adjacency      the same
degree               degrees        int64 (n,)
group_degrees        group_degrees  int64 (n, groups)
noisy_row            noisy_rows     int32 (n, n), in steps of the grid; 0 where i does not report about j
one_bit              features       uint8 (n, ceil(d / 8)), as ``np.packbits`` gives them
multi_bit            features       int8 CSR (n, d) of -1 and 1; what was not sampled is not stored
grr_fs               features       uint8 or uint16 (n, number of features), categories
laplace              features       int32 or int64 (n, d), in steps of the grid
analytic_gaussian    features       the same
clear_features       features       float32 CSR (n, d)
grr, clear_label     labels         int64 (n,)
===================  =============  ==================================================================

A mechanism of somebody else's about features or labels is decoded one by one and stacked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from devices.mechanisms import (
    GRRFS,
    ClearAdjacency,
    ClearFeatures,
    Degree,
    GroupDegrees,
    Mechanism,
    MultiBit,
    NoisyRow,
    OneBit,
    RandomizedResponse,
)
from devices.mechanisms.bits import unpack_positions

FIELDS = ("adjacency", "degrees", "group_degrees", "noisy_rows", "features", "labels")
Rows = Mapping[int, bytes]


def stack(mechanism: Mechanism, n: int, rows: Rows) -> tuple[str, Any]:
    """Return the field of :class:`curator.reports.reports.Reports` that these reports fill, and its array.

    Args:
        mechanism: What was asked.
        n: Number of people.
        rows: Bytes by device, in rising order of devices.

    Raises:
        ValueError: for bytes that no report of this mechanism has, or reports about the
            adjacency by a mechanism that is not listed above.
    """
    if isinstance(mechanism, (RandomizedResponse, ClearAdjacency)):
        return "adjacency", _adjacency(mechanism, n, rows)
    if isinstance(mechanism, Degree):
        return "degrees", _dense(mechanism, np.zeros(n, np.int64), rows)
    if isinstance(mechanism, GroupDegrees):
        return "group_degrees", _dense(mechanism, np.zeros((n, mechanism.groups), np.int64), rows)
    if isinstance(mechanism, NoisyRow):
        return "noisy_rows", _noisy_rows(mechanism, n, rows)
    if isinstance(mechanism, OneBit):
        return "features", _feature_bits(mechanism, n, rows)
    if isinstance(mechanism, (MultiBit, ClearFeatures)):
        return "features", _sparse(mechanism, n, rows)
    if isinstance(mechanism, GRRFS):
        small = np.uint8 if max(mechanism.domains) <= 1 << 8 else np.uint16
        return "features", _dense(mechanism, np.zeros((n, mechanism.d), small), rows)
    if "features" in mechanism.attributes:
        return "features", _stacked(mechanism, n, rows)
    if "label" in mechanism.attributes:
        return "labels", _dense(mechanism, np.full(n, -1, np.int64), rows)
    raise ValueError(f"reports of {mechanism.name} cannot be read by this version")


def _decoded(mechanism: Mechanism, data: bytes, device: int) -> Any:
    try:
        return mechanism.decode(data, device=device)
    except ValueError as error:
        raise ValueError(f"device {device}: {error}") from error


def _dense(mechanism: Mechanism, into: NDArray, rows: Rows) -> NDArray:
    for device, data in rows.items():
        into[device] = _decoded(mechanism, data, device)
    return into


def _stacked(mechanism: Mechanism, n: int, rows: Rows) -> NDArray:
    """Reports that are arrays of one shape; numbers are kept in 32 bits where that holds them."""
    reports = {device: np.asarray(_decoded(mechanism, data, device)) for device, data in rows.items()}
    first = next(iter(reports.values()), np.zeros(0, np.int64))
    whole = first.dtype == np.int64 and all(abs(r).max(initial=0) < 1 << 31 for r in reports.values())
    into = np.zeros((n, *first.shape), np.int32 if whole else first.dtype)
    for device, report in reports.items():
        into[device] = report
    return into


def sparse_ones(n: int, indptr: NDArray, indices: NDArray) -> csr_array:
    """bool CSR (n, n) of ones at these places."""
    return csr_array((np.ones(len(indices), np.bool_), indices, indptr), shape=(n, n))


def _rows_together(n: int, chosen: Mapping[int, NDArray]) -> tuple[NDArray, NDArray]:
    """CSR (indptr, indices) of each device's sorted places."""
    indptr = np.zeros(n + 1, np.int64)
    for device, places in chosen.items():
        indptr[device + 1] = len(places)
    indptr = np.cumsum(indptr)
    indices = np.concatenate([np.zeros(0, np.int32), *chosen.values()], dtype=np.int32)
    return indptr.astype(np.int32) if indptr[-1] < 1 << 31 else indptr, indices


def _adjacency(mechanism: RandomizedResponse | ClearAdjacency, n: int, rows: Rows) -> csr_array:
    chosen = {}
    for device, data in rows.items():
        positions = unpack_positions(data, mechanism.targets(device))
        chosen[device] = mechanism.nodes(device, positions).astype(np.int32)
    return sparse_ones(n, *_rows_together(n, chosen))


def _noisy_rows(mechanism: NoisyRow, n: int, rows: Rows) -> NDArray[np.int32]:
    into = np.zeros((n, n), np.int32)
    for device, data in rows.items():
        report = _decoded(mechanism, data, device)
        if abs(report).max(initial=0) >= 1 << 31:
            raise ValueError(f"device {device} reported a number beyond 32 bits")
        into[device, mechanism.nodes(device, np.arange(len(report)))] = report
    return into


def _sparse(mechanism: MultiBit | ClearFeatures, n: int, rows: Rows) -> csr_array:
    places: dict[int, NDArray] = {}
    values: list[NDArray] = [np.zeros(0, np.int8 if isinstance(mechanism, MultiBit) else np.float32)]
    for device, data in rows.items():
        if isinstance(mechanism, MultiBit):
            try:
                where, given = mechanism.decode_sparse(data)
            except ValueError as error:
                raise ValueError(f"device {device}: {error}") from error
        else:
            dense = _decoded(mechanism, data, device)
            where = np.flatnonzero(dense)
            given = dense[where]
        places[device] = where.astype(np.int32)
        values.append(given)
    indptr, indices = _rows_together(n, places)
    return csr_array((np.concatenate(values), indices, indptr), shape=(n, mechanism.d))


def _feature_bits(mechanism: OneBit, n: int, rows: Rows) -> NDArray[np.uint8]:
    width = (mechanism.d + 7) // 8
    bits = np.zeros((n, width), np.uint8)
    for device, data in rows.items():
        if len(data) != width:
            raise ValueError(f"device {device} reported {len(data)} bytes of features, not {width}")
        bits[device] = np.frombuffer(data, np.uint8)
    if mechanism.d % 8:  # what follows the last feature carries nothing and may be anything
        bits[:, -1] &= np.uint8((0xFF00 >> mechanism.d % 8) & 0xFF)
    return bits
