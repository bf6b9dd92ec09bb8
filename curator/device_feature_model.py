"""The linear model of features of a device model, fitted to what a curator knows of labelled people.

Features in clear: :func:`ldpsim.curator.features.linear_feature_model.fit_feature_model`. Of reports, the features are
unbiased estimates, and the model is the ridge regression that the null models have. In either case the shares of the
classes join the means, by the pool of :mod:`ldpsim.curator.learning.pool`.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

from ldpsim.curator.features.linear_feature_model import FeatureModelFit, fit_feature_model, whole_number_model
from ldpsim.curator.features.naive_bayes import smoothed_class_shares
from ldpsim.curator.learning.pool import fit_pool
from ldpsim.curator.learning.ridge import SCORE_SCALE
from ldpsim.curator.nulls.inputs import NullInputs
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.feature_model import MOST_LEVELS, UNIT


def device_feature_model(inputs: NullInputs, facts: PublicFacts) -> FeatureModelFit | None:
    """Return the model of features; None without features, or labels, that the curator has."""
    has_features = inputs.features is not None and facts.d and inputs.features.shape[1] == facts.d
    if not has_features or not len(inputs.training_people):
        return None
    if "features" in inputs.reported:
        return _model_of_estimates(inputs, facts)
    people = inputs.labels.with_label(np.sort(inputs.split.labelled))
    labels = inputs.labels.of(people)
    return _with_prior(fit_feature_model(inputs.features[people], labels, facts), labels)


def _model_of_estimates(inputs: NullInputs, facts: PublicFacts) -> FeatureModelFit:
    """Return the ridge regression of the null models, applied to features in clear.

    It was fitted to estimates, in rows of length 1. Before, these have nearly one length, because most of it is noise;
    a device's own features have no noise. So each weight is divided by this length. The exponent is fitted to
    validation labels; where they taught the regression, by its leave-one-out scores.
    """
    features, fit = inputs.features, inputs.ridge
    if issparse(features):  # they have the middle of the range as 0
        middle = np.full(facts.d, (facts.feature_low + facts.feature_high) / 2)
        squares = np.asarray(features.power(2).mean(axis=0)).ravel()
    else:
        middle, squares = features.mean(axis=0, dtype=np.float64), features.var(axis=0, dtype=np.float64)
    factors = np.divide(1.0, np.sqrt(squares), out=np.zeros(facts.d), where=squares > 0)
    weights = fit.weights * (factors / np.sqrt(np.count_nonzero(factors) or 1))[:, None]
    unit = (facts.feature_high - facts.feature_low) / MOST_LEVELS
    means = fit.mean + (facts.feature_low - middle) @ weights
    if inputs.uses_validation_labels:
        people, scores = inputs.training_people, fit.leave_one_out
    else:
        people = inputs.labels.with_label(inputs.split.val)
        scores = fit.scores[people]
    labels = inputs.labels.of(people)
    pool = fit_pool({"ridge": SCORE_SCALE * scores}, labels, np.arange(len(people)), prior={"ridge": 1.0})
    factor = pool.exponents["ridge"] * SCORE_SCALE
    model = whole_number_model(factor * unit * weights, factor * (means - means.mean()))
    return _with_prior(FeatureModelFit(model, MOST_LEVELS, pool.log_probability), labels)


def _with_prior(fit: FeatureModelFit, labels: ObservedLabels) -> FeatureModelFit:
    """Return the model with class shares in its means, by the exponents of the smallest loss on the labels."""
    people = np.arange(len(labels.labels))
    prior = np.log(smoothed_class_shares(labels.estimates(people)))
    parts = {"model": fit.log_probability, "prior": np.tile(prior, (len(people), 1))}
    pool = fit_pool(parts, labels, people, prior={"model": 1.0, "prior": 0.0})
    exponent = pool.exponents["model"]
    means = exponent * fit.model.means / UNIT + pool.exponents["prior"] * (prior - prior.mean())
    model = whole_number_model(exponent * fit.model.weights / UNIT, means)
    return FeatureModelFit(model, fit.levels, pool.log_probability)
