"""Reported bits of features, under noise that flips each of them alike.

Frequency estimation in neighbourhoods (Bhaila et al. 2024, RGNN, eq. 2 and 4, Algorithms 2 and 3).

lambda'_v is the share of each category among the reports of v's K-hop neighbourhood: the
mean over N(v) and v, K times. As a mixture of the reports' known laws it is unbiased by

    features (GRR-FS, eq. 2):  pi = d lambda' / (m (p - q)) + (m - d - m g q) / (m g (p - q))
    labels (eq. 4):            pi = P^-1 lambda' = (lambda' - q) / (p - q)

A person without a report (a silent device, or a person who was not asked for a label) is a row of zeros. Features are
divided by the share of the neighbourhood that did report. Each feature has the p, q and g of its own domain.

Both corrections rise in lambda', by the same slope for every category, so they never move
an argmax: labels and features of more than two categories are the most frequent report, and eq. 4 need not be
computed. Only binary features stay numbers and need eq. 2; these may leave [0, 1].

Unbiased feature estimates from reports, a strip of columns at a time.

A strip is float32 (n, columns) of the mechanism's own unbiased estimates. The row of a
silent device is the middle of the public range. The multi-bit mechanism estimates a feature
that it did not sample by the same value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, eye_array, issparse

from ldpsim.curator.linear.factored import LARGE, Factored, PackedBits, of_reports
from ldpsim.curator.linear.propagation import adjacency_matrix, bit_strips, mean_matrix, propagate
from ldpsim.curator.linear.scaling import columns_at_once, strips
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.array_types import BoolArray, IntArray
from ldpsim.devices.mechanisms import GRRFS, MultiBit, OneBit, Window


@dataclass(frozen=True, eq=False)
class FlippedFeatures:
    """A reported bit for each feature, and the law of their noise.

    Args:
        packed: uint8 (n, ceil(count / 8)), as ``np.packbits`` gives them.
        count: Number of features d.
        flip: Probability that a bit is flipped.
        answered: bool (n,): people whose bits are known.
    """

    packed: NDArray[np.uint8] = field(repr=False)
    count: int
    flip: float
    answered: BoolArray = field(repr=False)

    def unpacked(self) -> NDArray[np.uint8]:
        """uint8 (n, d): the bits."""
        return np.unpackbits(self.packed, axis=1, count=self.count)


def feature_bits(reports: Reports) -> FlippedFeatures | None:
    """Return the bits; None where none were reported, or under noise of another law."""
    if reports.features is None:
        return None
    mechanism = reports.source("features")
    if not isinstance(mechanism, OneBit):
        return None
    return FlippedFeatures(reports.features, reports.facts.d, mechanism.flip_probability, reports.reported("features"))


def both_directions(edges: IntArray) -> IntArray:
    """int64 (2, 2m) from the undirected edges, each once, int64 (2, m)."""
    return np.concatenate([edges, edges[::-1]], axis=1)


def neighbourhood_mean(n: int, edges: IntArray) -> csr_array:
    """float32 (n, n): the mean over N(v) and v itself; an isolated node keeps its own value.

    Args:
        n: Number of nodes.
        edges: int64 (2, m), each undirected edge once.
    """
    looped = csr_array(adjacency_matrix(n, both_directions(edges)) + eye_array(n, dtype=np.float32, format="csr"))
    return mean_matrix(looped)


def feature_spans(mechanism: GRRFS) -> list[slice]:
    """Return the columns of each feature: one for two categories, else one a category."""
    widths = [1 if g == 2 else g for g in mechanism.domains]
    ends = np.cumsum(widths).tolist()
    return [slice(end - width, end) for end, width in zip(ends, widths, strict=True)]


def code_features(
    codes: NDArray[Any], reported: NDArray[np.bool_], mechanism: GRRFS, features: range | None = None
) -> NDArray[np.float32]:
    """Return categories as 0/1 columns, float32 (n, columns); rows of people who did not report are 0.

    Args:
        codes: int (n, number of features), categories.
        reported: bool (n,).
        mechanism: The mechanism of the reports.
        features: Features that follow one another; None: all.
    """
    sizes = [(feature, mechanism.domains[feature]) for feature in features or range(mechanism.d)]
    # two categories have one column, that of the second
    feature, category = np.array([(each, c) for each, g in sizes for c in range(int(g == 2), g)]).T
    coded = (np.take(codes, feature, axis=1) == category).astype(np.float32)
    coded[~reported] = 0
    return coded


def estimate_features(
    codes: NDArray[Any], reported: NDArray[np.bool_], mechanism: GRRFS, mean: csr_array, hops: int
) -> NDArray[np.float32]:
    """Algorithm 2: every feature from the reports of the neighbourhood.

    Args:
        codes: int (n, number of features), reported categories.
        reported: bool (n,): who reported.
        mechanism: GRR-FS as it was asked.
        mean: :func:`neighbourhood_mean`.
        hops: K_x; 0 corrects each person's own report.

    Returns:
        float32 (n, columns): for a binary feature the estimate that it is 1, for another
        the most probable category (of equal ones the first) as one-hot columns. Where nobody
        within reach reported, 1 / g.
    """
    heard = propagate(mean, reported.astype(np.float32)[:, None], hops)
    spans, at_once = feature_spans(mechanism), columns_at_once(len(codes))
    result = np.empty((len(codes), spans[-1].stop), np.float32)
    for first in range(0, mechanism.d, at_once):
        features = range(first, min(first + at_once, mechanism.d))
        columns = slice(spans[first].start, spans[features[-1]].stop)
        result[:, columns] = propagate(mean, code_features(codes, reported, mechanism, features), hops)
    np.divide(result, heard, out=result, where=heard > 0)
    sizes = np.array([g for g in mechanism.domains for _ in range(1 if g == 2 else g)])  # categories, of each column
    slope, intercept = mechanism.correction(2) if 2 in sizes else (1.0, 0.0)
    result *= np.where(sizes == 2, slope, 1).astype(np.float32)
    result += np.where(sizes == 2, intercept, 0).astype(np.float32)
    for g, span in zip(mechanism.domains, spans, strict=True):
        if g > 2:
            result[:, span] = np.argmax(result[:, span], axis=1)[:, None] == np.arange(g)
    result[heard[:, 0] == 0] = 1 / sizes
    return result


def estimate_labels(rows: NDArray[Any], mean: csr_array, hops: int) -> IntArray:
    """Algorithm 3: every node's label from the reports of the neighbourhood (masked propagation).

    Args:
        rows: float (n, classes): the classes that each report names
            (:meth:`ldpsim.curator.reports.labels.LabelEvidence.everybody`), zeros where there is none.
        mean: :func:`neighbourhood_mean`.
        hops: K_y.

    Returns:
        int64 (n,), also for nodes without a report of their own; of equal estimates the
        first; -1 where no report lies within reach.
    """
    shares = propagate(mean, np.asarray(rows, np.float32), hops)
    return np.where(shares.any(axis=1), shares.argmax(axis=1), -1).astype(np.int64)


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
            product = of_reports(*mechanism.sparse_estimates(reports.features), matrix, hops)
            if product.pays():
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
