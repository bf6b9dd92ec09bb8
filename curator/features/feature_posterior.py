"""Class distributions from a person's features alone: naive Bayes, ridge regression and a perceptron, pooled.

Components, each (n, classes):

    naive Bayes         ln-probabilities of shrunk naive Bayes on bits, out of fold for training people
    ridge, ln ridge     5 times the scores of ridge regression, and ln of the scores, those below .01 taken as .01;
                        leave-one-out for training people
    near, ln near       the same on the mean of the person's row and those of 30 similar people; for public text
    kernel, ln kernel   the same on the rows of a Gaussian kernel; for public features that are no text

Their exponents minimise the negative log-likelihood of training and validation labels. A training person's row of a
component does not depend on this person's label, but for the exponents, ridge's penalty and the width of the kernel,
which follow from all labels.

A ``perceptron`` joins the fitted pool late (:func:`ldpsim.curator.learning.pool.joined_pool`): its rows of training
people depend on their own labels. The rows of training people stay those of the pool without it.

Bits of features are the words that a person has in text, and the columns in which it is above the mean in
everything else. Of a reported label, ridge regression and naive Bayes learn from an unbiased estimate; the perceptron
learns from it as it names classes, and its probabilities become (p - lie) / (truth - lie)
(:mod:`ldpsim.curator.reports.labels`).

The curator computes this pool. A device evaluates the linear model of
:mod:`ldpsim.curator.features.linear_feature_model` on its own person's features. Both have the ridge regression of
:func:`ldpsim.curator.learning.ridge.fit_ridge` and the pool of :mod:`ldpsim.curator.learning.pool`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ldpsim.curator.features.features_alone import fit_perceptron
from ldpsim.curator.features.naive_bayes import naive_bayes, smoothed_class_shares
from ldpsim.curator.learning.pool import fit_pool, joined_pool
from ldpsim.curator.learning.ridge import MORE_PENALTIES, SCORE_SCALE, fit_ridge
from ldpsim.curator.linear.kernel_rows import kernel_rows, landmarks_of
from ldpsim.curator.linear.propagation import smoothed_rows
from ldpsim.curator.linear.scaling import is_text, standardised_rows, weighted_rows
from ldpsim.curator.linear.similar_rows import similarity_graph
from ldpsim.curator.reports.feature_bits import FlippedFeatures
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.facts import Split

_LEAST_SCORE = 0.01
_PRIOR = {"naive Bayes": 0.1, "ridge": 1.0}  # 0 for the others
_WIDTHS = (0.5, 2.0)  # of the kernel, for rows of length 1
_LARGEST, _FREQUENT = 2048, 1024  # rows of a matrix to invert; columns that are left of more


@dataclass(frozen=True, eq=False)
class FeaturePosterior:
    """Class probabilities from features alone.

    Args:
        log_probability: float64 (n, classes); the probabilities of a row sum to 1.
        components: float64 (n, classes) by name; empty where nothing is known but the class shares.
        exponents: Exponent of each component.
    """

    log_probability: DoubleArray = field(repr=False)
    components: Mapping[str, DoubleArray] = field(repr=False)
    exponents: Mapping[str, float]


def feature_posterior(
    features: Any, labels: ObservedLabels, split: Split, *, bits: FlippedFeatures | None = None, seed: int = 0,
    device: str = "cpu",
) -> FeaturePosterior:  # fmt: skip
    """Return everybody's class distribution from public features, or from reported bits.

    Args:
        features: (n, d), CSR or numpy: the public features; None if they are private.
        labels: Labels, public or reported. Those of test people are not read.
        split: Division of the people.
        bits: Reported bits; None to take the bits of ``features``.
        seed: Seed of the folds and of the perceptron.
        device: Device of the perceptron: ``auto``, ``cpu`` or ``cuda``.
    """
    train, val = (labels.with_label(nodes) for nodes in (split.train, split.val))
    rows, weights = unit_rows(features, bits), labels.estimates(train)
    if rows is None or not len(train):
        return _shares_alone(len(labels.labels), weights)
    scores = fit_ridge(rows, train, labels).without_own_label
    if bits is None:
        bayes = naive_bayes(bits_of(features), train, weights, seed=seed)
    else:
        bayes = naive_bayes(bits.unpacked(), train, weights, flip=bits.flip, answered=bits.answered, seed=seed)
    components = {"naive Bayes": bayes, "ridge": SCORE_SCALE * scores, "ln ridge": ln_scores(scores)}
    if features is not None:
        name, scores_of = ("near", _smoothed_scores) if is_text(features) else ("kernel", _kernel_scores)
        scores = scores_of(rows, train, labels)
        components |= {name: SCORE_SCALE * scores, f"ln {name}": ln_scores(scores)}
    prior = {name: _PRIOR.get(name, 0.0) for name in components}
    pool = fit_pool(components, labels, val, others=train, prior=prior)
    if features is None or not len(val):
        return FeaturePosterior(pool.log_probability, components, pool.exponents)
    perceptron = fit_perceptron(features, labels, train, val, seed=seed, device=device)
    components["perceptron"] = ln_scores(labels.unbiased(np.exp(perceptron) * labels.whole))
    joined = joined_pool(pool, {"perceptron": components["perceptron"]}, labels, val)
    log_probability = joined.log_probability.copy()
    log_probability[train] = pool.log_probability[train]
    return FeaturePosterior(log_probability, components, joined.exponents)


def _smoothed_scores(rows: Any, train: IntArray, labels: ObservedLabels) -> DoubleArray:
    """float64 (n, classes): ridge's scores on rows smoothed over similar people; at most 1,024 frequent columns."""
    similar = similarity_graph(rows)
    if min(rows.shape[1], len(train)) > _LARGEST:
        weight = np.square(rows).sum(axis=0) if not issparse(rows) else rows.power(2).sum(axis=0)
        rows = rows[:, np.sort(np.argsort(-np.asarray(weight).ravel(), kind="stable")[:_FREQUENT])]
    return fit_ridge(smoothed_rows(rows, similar), train, labels, MORE_PENALTIES).without_own_label


def _kernel_scores(rows: Any, train: IntArray, labels: ObservedLabels) -> DoubleArray:
    """float64 (n, classes): ridge's scores on kernel rows of the width with the smallest leave-one-out error."""
    landmarks = landmarks_of(train, rows.shape[0])
    fits = [fit_ridge(kernel_rows(rows, landmarks, width), train, labels, MORE_PENALTIES) for width in _WIDTHS]
    return min(fits, key=lambda fit: fit.error).without_own_label


def bits_of(features: Any) -> Any:
    """Return the bits of features, bool (n, d): CSR for CSR text, else numpy.

    >>> bits_of(np.array([[0.0, 2.0], [0.0, -1.0]])).astype(int)
    array([[0, 1],
           [0, 0]])
    """
    if is_text(features):
        return features > 0
    return (features.toarray() if issparse(features) else features) > np.asarray(features.mean(axis=0)).ravel()


def unit_rows(features: Any, bits: FlippedFeatures | None) -> Any:
    """Return rows of length 1 of the features, else of the bits; None without any column."""
    if features is not None:
        return weighted_rows(features) if features.shape[1] else None
    return standardised_rows(bits.unpacked()) if bits is not None and bits.count else None


def ln_scores(scores: DoubleArray) -> DoubleArray:
    """float64 (n, classes): ln of the scores, those below .01 taken as .01."""
    return np.asarray(np.log(np.maximum(scores, _LEAST_SCORE)))


def _shares_alone(n: int, weights: DoubleArray) -> FeaturePosterior:
    return FeaturePosterior(np.tile(np.log(smoothed_class_shares(weights)), (n, 1)), {}, {})
