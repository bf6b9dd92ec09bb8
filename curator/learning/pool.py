"""Log-linear pool of several opinions about everybody's class, with exponents fitted on labelled people.

    ln p_i(c) = sum_k a_k x_k(i, c) - ln of the sum of this over the classes,    a_k >= 0,

where x_k are the ln-probabilities or scores of component k. The exponents are those of the smallest

    sum over the labelled people of -ln p_i(label)  +  strength / 2 sum_k (a_k - prior_k)^2,

a convex function. Where only a noisy report of a label is known, -ln p_i(label) is -ln sum_c p_i(c) r_i(c),
r_i(c) the likelihood of the report under class c. The penalty only matters where few people are labelled; without
any the exponents are the prior.

An exponent below 1 corrects an overconfident component; it is 0 for a component that adds nothing.

Components whose row of a person does not depend on this person's label can be fitted on validation *and* training
people. With twenty validation labels this is worth .7 points, with hundreds nothing. A late component was fitted on
training labels, so it overfits them. It joins the fitted pool on validation labels alone, and only if the
log-likelihood gains more than one unit for each exponent (Akaike).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldpsim.curator.learning.folds import folds_of
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.devices.array_types import DoubleArray, IntArray

FOLDS = 5
STRENGTH = 1.0


@dataclass(frozen=True, eq=False)
class OpinionPool:
    """A fitted pool.

    Args:
        exponents: a_k by the component's name.
        log_probability: float64 (n, classes): ln p of everybody.
    """

    exponents: Mapping[str, float]
    log_probability: DoubleArray = field(repr=False)


def fit_pool(
    components: Mapping[str, DoubleArray], labels: ObservedLabels, nodes: IntArray, *, others: IntArray | None = None,
    late: Mapping[str, DoubleArray] | None = None, prior: Mapping[str, float] | None = None,
) -> OpinionPool:  # fmt: skip
    """Fit the exponents on the labels of ``nodes`` and ``others``, those of late components on ``nodes`` alone.

    Args:
        components: Finite float64 (n, classes) by name, at least one.
        labels: Public or reported labels; only those of ``nodes`` and ``others`` are read.
        nodes: Validation people: no component's row of them depends on their own label.
        others: Training people: the same holds in ``components``.
        late: Components that may depend on the labels of ``others``.
        prior: Exponents of ``components`` before anybody's label is seen; None for equal ones with the sum 1.
    """
    start = np.array([1 / len(components) if prior is None else prior[name] for name in components])
    people = nodes if others is None else np.concatenate([nodes, others])
    exponents, _ = _fit(list(components.values()), labels, people, start)
    by_name = dict(zip(components, exponents.tolist(), strict=True))
    pool = OpinionPool(by_name, pooled(components, exponents))
    return joined_pool(pool, late, labels, nodes) if late else pool


def joined_pool(
    pool: OpinionPool, late: Mapping[str, DoubleArray], labels: ObservedLabels, nodes: IntArray
) -> OpinionPool:
    """Return the pool with late components; as it was where the log-likelihood gains less than one for each exponent.

    Args:
        pool: A fitted pool.
        late: Finite float64 (n, classes) by name; exponents are 0 before any label is seen.
        labels, nodes: Those of :func:`fit_pool`.
    """
    parts = {"": pool.log_probability, **late}
    exponents, gain = _fit(list(parts.values()), labels, nodes, np.eye(1, len(parts))[0])
    if not gain > len(parts):
        return OpinionPool({**pool.exponents, **dict.fromkeys(late, 0.0)}, pool.log_probability)
    by_name = {name: float(exponents[0]) * exponent for name, exponent in pool.exponents.items()}
    by_name |= dict(zip(late, exponents[1:].tolist(), strict=True))
    return OpinionPool(by_name, pooled(parts, exponents))


def cross_fitted(
    components: Mapping[str, DoubleArray], labels: ObservedLabels, nodes: IntArray, **more: Any
) -> DoubleArray:
    """float64 (n, classes): ln p, for each of ``nodes`` without the labels of its own fold of ``nodes``.

    The rows of everybody else are those of :func:`fit_pool`. The arguments are those of :func:`fit_pool` too.
    """
    rows = fit_pool(components, labels, nodes, **more).log_probability.copy()
    folds = folds_of(len(nodes), FOLDS, seed=0)
    for fold in np.unique(folds):
        held_out = nodes[folds == fold]
        rows[held_out] = fit_pool(components, labels, nodes[folds != fold], **more).log_probability[held_out]
    return rows


def _fit(
    parts: list[DoubleArray], labels: ObservedLabels, people: IntArray, start: DoubleArray
) -> tuple[DoubleArray, float]:
    """Return the exponents and what the sum of ln p_i(label) gains over ``start``."""
    if labels.in_clear:
        people = labels.with_label(people)
    if not len(people):
        return start, 0.0
    from scipy.optimize import minimize  # imported where it is needed: the import takes as long as a small run

    log_likelihood = labels.log_likelihood(people)
    stacked = np.stack([part[people] for part in parts])
    stacked -= stacked.mean(axis=2, keepdims=True)  # no probability changes; no large numbers
    scale = np.maximum(np.sqrt(np.square(stacked).mean(axis=(1, 2))), 1e-12)

    def value(scaled: DoubleArray) -> tuple[float, DoubleArray]:
        exponents = scaled / scale
        loss, gradient = loss_of(exponents, stacked, log_likelihood)
        change = exponents - start
        return loss + STRENGTH / 2 * float(change @ change), (gradient + STRENGTH * change) / scale

    best = minimize(value, start * scale, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(parts))
    exponents = np.asarray(best.x / scale)
    before, after = (loss_of(each, stacked, log_likelihood)[0] for each in (start, exponents))
    return exponents, before - after


def loss_of(exponents: DoubleArray, stacked: DoubleArray, log_likelihood: DoubleArray) -> tuple[float, DoubleArray]:
    """Return the sum of -ln p_i(report) and its gradient in the exponents.

    Args:
        exponents: float64 (k,).
        stacked: float64 (k, m, classes): components of the labelled people.
        log_likelihood: float64 (m, classes): ln r, of their labels or reports.
    """
    loss, change = loss_of_scores(np.tensordot(exponents, stacked, 1), log_likelihood)
    return loss, np.asarray(np.tensordot(stacked, change, 2))


def loss_of_scores(scores: DoubleArray, log_likelihood: DoubleArray) -> tuple[float, DoubleArray]:
    """Return the sum of -ln sum_c softmax(scores_i)_c r_i(c), and its gradient in the scores, (m, classes).

    Args:
        scores: float64 (m, classes).
        log_likelihood: float64 (m, classes): ln r.
    """
    before, after = _normaliser(scores), _normaliser(scores + log_likelihood)
    change = np.exp(scores - before) - np.exp(scores + log_likelihood - after)
    return float((before - after).sum()), change


def pooled(components: Mapping[str, DoubleArray], exponents: DoubleArray) -> DoubleArray:
    """float64 (n, classes): ln p."""
    total = sum(a * values for a, values in zip(exponents, components.values(), strict=True))
    scores = np.asarray(total)
    return scores - _normaliser(scores)


def _normaliser(scores: DoubleArray) -> DoubleArray:
    """float64 (m, 1): ln of the sum of exp(scores) over a row."""
    top = scores.max(axis=1, keepdims=True)
    return np.asarray(top + np.log(np.exp(scores - top).sum(axis=1, keepdims=True)))
