"""The linear model that a device evaluates on its own person's features, fitted to people whose features are known.

It is part of a public question, or of the device model. A device computes it in whole numbers
(:mod:`ldpsim.devices.mechanisms.feature_model`), with one weight a feature and class: so it is no pool of kernels and
perceptrons, as :mod:`ldpsim.curator.features.feature_posterior` is. Its rows are those that a device computes: of
length 1 for words, levels for numbers. The naive Bayes here has weights for rows of length 1, too; that module's has
weights for bits, which could not be added to those of ridge regression.

Words: rows of zeros and ones are divided by their length. Two linear models are fitted to them, and their scores are
pooled: ridge regression, and complement naive Bayes (Rennie, Shih, Teevan and Karger, ICML 2003), with weights

    w_ck = -ln((a + N_k - N_ck) / sum over k' of the same),    a = 1,

where N_ck is the sum of column k over people of class c, and N_k over all.

Numbers: every feature has 255 levels in the public range. Ridge regression is fitted to columns of mean 0 and standard
deviation 1. The exponents of the pool have the smallest negative log-likelihood of the labels of these people, each by
a fit without it (:func:`ldpsim.curator.learning.pool.fit_pool`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse
from scipy.special import log_softmax

from ldpsim.curator.learning.folds import folds_of
from ldpsim.curator.learning.pool import fit_pool
from ldpsim.curator.learning.ridge import MORE_PENALTIES, SCORE_SCALE, fit_ridge
from ldpsim.curator.linear.scaling import is_text
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.feature_model import LARGEST, MOST_LEVELS, UNIT, FeatureModel, whole_features

_PRIOR = {"ridge": 1.0, "bayes": 0.0}  # exponents before a label is seen
_FOLDS = 10


@dataclass(frozen=True, eq=False)
class FeatureModelFit:
    """A model, and log-probabilities of the people it was fitted to.

    Args:
        model: The model that is published.
        levels: Levels of a feature, 1 for words.
        log_probability: float64 (m, classes): of the class of each of these people, by fits without the own label.
    """

    model: FeatureModel
    levels: int
    log_probability: DoubleArray = field(repr=False)

    def with_shares(self, before: DoubleArray, after: DoubleArray) -> FeatureModelFit:
        """Return the model for people whose classes have other shares than those of the fit: Bayes' rule.

        Args:
            before, after: float64 (classes,): the shares, above 0.
        """
        change = np.log(after / before)
        if not change.any():
            return self
        scores = self.log_probability + change
        means = self.model.means + np.rint(UNIT * (change - change.mean())).astype(np.int64)
        means = np.clip(means, -LARGEST, LARGEST)
        return FeatureModelFit(FeatureModel(self.model.weights, means), self.levels, log_softmax(scores, axis=1))


def fit_feature_model(features: Any, labels: ObservedLabels, facts: PublicFacts) -> FeatureModelFit:
    """Fit the model.

    Args:
        features: (m, d), CSR or numpy: features in clear of people with a label, m at least 1.
        labels: Their labels, in clear or reported.
        facts: Number of classes, and the range of features.
    """
    classes, people, words = facts.classes, np.arange(len(labels.labels)), is_text(features)
    if words:
        bits = csr_array(csr_array(features) > 0, dtype=np.float64)  # most entries are 0
        lengths = np.sqrt(np.maximum(np.asarray(bits.sum(axis=1)).ravel(), 1.0))
        rows, centre, per_level = csr_array(diags_array(1 / lengths) @ bits), np.zeros(facts.d), np.ones(facts.d)
    else:
        dense = features.toarray() if issparse(features) else features
        levels = whole_features(dense, MOST_LEVELS, facts.feature_low, facts.feature_high)
        centre, deviation = levels.mean(axis=0), levels.std(axis=0)
        per_level = np.divide(1.0, deviation * np.sqrt(facts.d), out=np.zeros(facts.d), where=deviation > 0)
        rows = csr_array((levels - centre) * per_level)
    fit = fit_ridge(rows.astype(np.float32), people, labels, MORE_PENALTIES)
    parts = {"ridge": SCORE_SCALE * fit.leave_one_out}
    if words:
        targets = labels.labels
        parts["bayes"] = _held_out_bayes_scores(rows, targets, classes)
        bayes_weights = _bayes_weights(rows, targets, classes)
    pool = fit_pool(parts, labels, people, prior={name: _PRIOR[name] for name in parts})
    factor = pool.exponents["ridge"] * SCORE_SCALE
    weights = factor * fit.weights.astype(np.float64)
    if words:
        weights = weights + pool.exponents["bayes"] * bayes_weights
    weights = weights * per_level[:, None]
    means = factor * fit.mean - centre @ weights
    model = whole_number_model(weights, means - means.mean())
    return FeatureModelFit(model, 1 if words else MOST_LEVELS, pool.log_probability)


def model_for_accounts(columns: int, classes: int) -> FeatureModel:
    """Return a model for accounting, which no device gets: each feature has the largest weight, for one later class.

    Without features the first class is the best one where the list says nothing. So a change of the features changes
    the vote, and the losses are tight.

    Raises:
        ValueError: without a column, or for fewer than two classes.
    """
    if columns < 1 or classes < 2:
        raise ValueError(f"a model of features needs columns and two classes or more, not {columns}, {classes}")
    weights = np.zeros((columns, classes), np.int64)
    weights[np.arange(columns), 1 + np.arange(columns) % (classes - 1)] = LARGEST
    return FeatureModel(weights, np.zeros(classes, np.int64))


def _bayes_weights(rows: csr_array, labels: IntArray, classes: int) -> DoubleArray:
    """float64 (d, classes): w of complement naive Bayes, less their mean over the classes."""
    sums = np.asarray(rows.T @ np.eye(classes)[labels])
    others = sums.sum(axis=1, keepdims=True) - sums + 1
    weights = -np.log(others / others.sum(axis=0))
    return np.asarray(weights - weights.mean(axis=1, keepdims=True))


def _held_out_bayes_scores(rows: csr_array, labels: IntArray, classes: int) -> DoubleArray:
    """float64 (m, classes): each person's scores by weights of the other folds."""
    folds = folds_of(len(labels), _FOLDS, seed=0)
    scores = np.zeros((len(labels), classes))
    for fold in range(int(folds.max()) + 1):
        held_out = folds == fold
        scores[held_out] = rows[held_out] @ _bayes_weights(rows[~held_out], labels[~held_out], classes)
    return scores


def whole_number_model(weights: DoubleArray, means: DoubleArray) -> FeatureModel:
    """Return the model in whole numbers; one that 32 bits do not hold is scaled down."""
    largest = max(1.0, float(np.abs(weights).max(initial=0)), float(np.abs(means).max())) * UNIT
    in_units = [np.rint(part * UNIT * min(1.0, LARGEST / largest)).astype(np.int64) for part in (weights, means)]
    return FeatureModel(in_units[0], in_units[1])
