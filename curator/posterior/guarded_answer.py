"""A pool of components, guarded by validation.

The pool is fitted on validation labels, which are no sources of the posterior, and on training labels, in components
whose row of a person does not depend on this person's label (:mod:`ldpsim.curator.learning.pool`). The answer is the
pool, unless one of the simpler candidates is better on validation people by more than the standard error of the paired
difference: features alone, label propagation or LINK on the pairs about which every report says 1, or the largest
class. The pool's predictions for validation people are cross-fitted: each is by a fit without the person's label.
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
    """The answer.

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
        train: int64: people on whose label no row of theirs in ``components`` depends; their labels fit exponents too.
        late: float64 (n, classes) by name: components that may depend on labels of ``train``.
        prior: Exponents before any validation label is seen.
    """
    pool = fit_pool(components, labels, val, others=train, late=late, prior=prior)
    held_out = cross_fitted(components, labels, val, others=train, late=late, prior=prior)
    hits = {name: _hits(rows, labels, val) for name, rows in {POOL: held_out, **simpler}.items()}
    chosen = POOL
    for name in simpler:
        gain = hits[name] - hits[POOL]
        if gain.sum() > math.sqrt(np.square(gain).sum()) and hits[name].sum() > hits[chosen].sum():
            chosen = name
    accuracy = {name: float(row.mean()) if len(val) else math.nan for name, row in hits.items()}
    return GuardedAnswer(chosen, pool.log_probability if chosen == POOL else simpler[chosen], pool.exponents, accuracy)


def _hits(scores: DoubleArray, labels: ObservedLabels, nodes: IntArray) -> DoubleArray:
    return (scores[nodes].argmax(axis=1) == labels.labels[nodes]).astype(np.float64)
