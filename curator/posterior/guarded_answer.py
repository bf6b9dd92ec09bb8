"""A pool of components, guarded by validation.

The pool is fitted on validation labels, which are no sources of the posterior, and on training labels, as far as they
are not in their own rows (:mod:`ldpsim.curator.learning.pool`). What is published is the pool, unless validation
prefers something simpler: features alone, label propagation on the pairs that every report calls an edge, or the
largest class. The pool's own predictions for validation people are cross-fitted, so that each is made without the own
label. A simpler answer has to be better by more than the standard error of the paired difference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ldpsim.curator.learning.pool import cross_fitted, fit_pool
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.devices.array_types import DoubleArray, IntArray

POOL = "pool"


@dataclass(frozen=True, eq=False)
class GuardedAnswer:
    """A published answer.

    Args:
        chosen: ``pool``, or the name of the simpler answer.
        log_probability: float64 (n, classes).
        exponents: Exponents of the pool by component.
        accuracy: Share of validation hits of each candidate; NaN without a validation label.
    """

    chosen: str
    log_probability: DoubleArray = field(repr=False)
    exponents: Mapping[str, float]
    accuracy: Mapping[str, float]


def guarded_answer(
    components: Mapping[str, DoubleArray], simpler: Mapping[str, DoubleArray], labels: ObservedLabels, val: IntArray,
    *, train: IntArray | None = None, late: Mapping[str, DoubleArray] | None = None,
    prior: Mapping[str, float],
) -> GuardedAnswer:  # fmt: skip
    """Pool the components and let validation guard the result.

    Args:
        components: float64 (n, classes) by name, log-probabilities or scores.
        simpler: float64 (n, classes) by name: the other candidates, the most trusted first.
        labels: Public or reported labels.
        val: int64: validation people with a label.
        train: int64: people whose own label is in no row of theirs in ``components``; their labels fit exponents too.
        late: float64 (n, classes) by name: components that may hold labels of ``train``.
        prior: Exponents before any validation label is seen.
    """
    pool = fit_pool(components, labels, val, others=train, late=late, prior=prior)
    honest = cross_fitted(components, labels, val, others=train, late=late, prior=prior)
    hits = {name: _hits(rows, labels, val) for name, rows in {POOL: honest, **simpler}.items()}
    chosen = POOL
    for name in simpler:
        gain = hits[name] - hits[POOL]
        if gain.sum() > math.sqrt(np.square(gain).sum()) and hits[name].sum() > hits[chosen].sum():
            chosen = name
    accuracy = {name: float(row.mean()) if len(val) else math.nan for name, row in hits.items()}
    return GuardedAnswer(chosen, pool.log_probability if chosen == POOL else simpler[chosen], pool.exponents, accuracy)


def _hits(scores: DoubleArray, labels: ObservedLabels, nodes: IntArray) -> DoubleArray:
    return (scores[nodes].argmax(axis=1) == labels.labels[nodes]).astype(np.float64)
