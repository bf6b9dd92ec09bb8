"""Unbiased feature estimates from reports, a strip of columns at a time.

A strip is float32 (n, columns) of the mechanism's own unbiased estimates. The row of a
silent device is the middle of the public range. The multi-bit mechanism estimates a feature
that it did not sample by the same value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, issparse

from ldpsim.curator.linear.factored import Factored, product_with_middle
from ldpsim.curator.linear.packed_bits import LARGE, PackedBits
from ldpsim.curator.linear.propagation import bit_strips
from ldpsim.curator.linear.strips import strips
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.mechanisms import MultiBit, OneBit, Window


def estimated_strips(reports: Reports) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Yield (columns, float32 (n, columns)); ValueError where the reports hold no features."""
    features = reports.needed("features")
    mechanism = reports.source("features")
    silent = ~reports.reported("features")
    middle = (reports.facts.feature_low + reports.facts.feature_high) / 2
    for columns, strip in _as_reported(features, reports.facts.d, isinstance(mechanism, OneBit)):
        estimate = np.asarray(mechanism.estimate(strip), np.float32)
        estimate[silent] = middle
        yield columns, estimate


def sparse_estimates(reports: Reports) -> tuple[csr_array, float]:
    """Return float32 CSR (n, d), the unbiased estimates less a constant, and the constant.

    The entries of a silent device are the constant, as those that a device did not report.

    Raises:
        ValueError: where there are no features, or the reports of this mechanism are not sparse.
    """
    features = reports.needed("features")
    mechanism = reports.source("features")
    if mechanism.in_clear:
        return csr_array(features, dtype=np.float32), 0.0
    if not isinstance(mechanism, MultiBit | Window):
        raise ValueError(f"the reports of {mechanism.name} are not sparse")
    estimates, constant = mechanism.sparse_estimates(features)
    return csr_array(estimates, dtype=np.float32), constant


def packed_estimates(reports: Reports) -> Factored | None:
    """The estimates of very many reported bits, packed; None for fewer, or other reports."""
    mechanism, facts = reports.source("features"), reports.facts
    if not isinstance(mechanism, OneBit) or facts.n * facts.d <= LARGE:
        return None
    low, high = mechanism.estimate(np.array([False, True])).astype(np.float32)
    middle = np.float32((facts.feature_low + facts.feature_high) / 2)
    nothing = np.where(reports.reported("features"), low, middle)[:, None]
    bits = PackedBits(reports.needed("features"), np.full(facts.d, high - low))
    return Factored(bits, (), nothing, np.ones((1, facts.d), np.float32))


def smoothed(reports: Reports, matrix: csr_array, hops: int) -> Any:
    """float32 (n, d): matrix^hops @ the estimates; beside the result no n x d array exists.

    Features in clear that are not propagated stay sparse (CSR). Sparse reports of everybody stay a
    product (:class:`ldpsim.curator.linear.factored.Factored`) where that makes training cheaper.
    """
    mechanism = reports.source("features")
    if issparse(reports.features) and reports.reported("features").all():
        if mechanism.in_clear and hops == 0:
            return reports.features
        if isinstance(mechanism, MultiBit | Window):
            product = product_with_middle(*mechanism.sparse_estimates(reports.features), matrix, hops)
            if product.is_cheaper():
                return product
    result = np.empty((reports.facts.n, reports.facts.d), np.float32)
    for columns, strip in estimated_strips(reports):
        for _ in range(hops):
            strip = matrix @ strip
        result[:, columns] = strip
    return result


def _as_reported(features: Any, d: int, packed: bool) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    if packed:
        yield from bit_strips(features, d)
        return
    by_column = csc_array(features) if issparse(features) else features
    for columns in strips(features.shape[0], d):
        strip = by_column[:, columns]
        yield columns, np.asarray(strip.toarray() if issparse(strip) else strip, np.float32)
