"""A linear model of features from a noisy sum of people's features and labels, mixed with that of volunteers.

The sum S = sum of u (e_y - pi)^T (:mod:`ldpsim.devices.mechanisms.sum_share`) over N people has, in the row of the
constant b, b (N_y - N pi_y): the shares of the classes are pi + S_b / (b N). The other rows, over a N, are the
covariances of features and classes. Divided by the shares they are the offsets of the classes' means from the mean of
all. With the variances s_k^2 of the volunteers' features

    w_ky = covariance_ky / (share_y (s_k^2 + lambda mean s^2))

are weights of a linear model. Where s_k^2 is small the noise of the sum counts most, and lambda weakens such features.
The exponents of both models, and lambda, have the smallest negative log-likelihood of the volunteers' labels: no
volunteer is in the sum, and the volunteers' model has their log-probabilities by fits without their own label.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.special import log_softmax

from ldpsim.curator.features.linear_feature_model import FeatureModelFit, whole_number_model
from ldpsim.curator.learning.pool import fit_pool
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.array_types import DoubleArray
from ldpsim.devices.mechanisms import SumShare
from ldpsim.devices.mechanisms.feature_model import MOST_LEVELS, UNIT
from ldpsim.devices.mechanisms.sum_share import CONSTANT, STEPS

_LAMBDAS = (0.1, 1.0, 10.0, 100.0)
_LEAST_SHARE = 1e-3
_PRIOR = {"volunteers": 1.0, "sum": 0.0}  # exponents before a label is seen


@dataclass(frozen=True, eq=False)
class NoisySum:
    """A sum of contributions, as the party that adds shows it.

    Args:
        total: float64 (d + 1, classes): S with its noise.
        contributors: N, their number.
        mechanism: The mechanism of a contribution.
    """

    total: DoubleArray = field(repr=False)
    contributors: int
    mechanism: SumShare

    @staticmethod
    def of(reports: Reports) -> NoisySum | None:
        """Return the sum of the reports; None where nobody contributed to one."""
        parts = reports.of_field("sums")
        if not parts:
            return None
        (part,) = parts
        mechanism, number = part.source("sums"), int(np.count_nonzero(part.answered))
        assert isinstance(mechanism, SumShare)
        return NoisySum(part.needed("sums") / STEPS, number, mechanism) if number else None

    @property
    def shares(self) -> DoubleArray:
        """float64 (classes,): shares of the classes among the contributors, above 0."""
        shares = self.mechanism.pi + self.total[-1] / (CONSTANT * self.contributors)
        shares = np.maximum(shares, _LEAST_SHARE)
        return np.asarray(shares / shares.sum())

    @property
    def covariances(self) -> DoubleArray:
        """float64 (d, classes): of features and classes."""
        return np.asarray(self.total[:-1] / (np.sqrt(1 - CONSTANT**2) * self.contributors))


def mixed_model(fit: FeatureModelFit, features: Any, labels: ObservedLabels, noisy_sum: NoisySum) -> FeatureModelFit:
    """Return the model of volunteers mixed with that of the sum.

    Args:
        fit: The model of the volunteers.
        features: (m, d): their features in clear, CSR or numpy.
        labels: Their labels.
        noisy_sum: The sum.
    """
    mechanism = noisy_sum.mechanism
    rows = mechanism.rows_of(features.toarray() if issparse(features) else np.asarray(features))
    people, means, variances = np.arange(len(rows)), rows.mean(axis=0), rows.var(axis=0)
    offsets = noisy_sum.covariances / noisy_sum.shares
    smallest_loss, best_fit = np.inf, fit
    for strength in _LAMBDAS:
        weights = offsets / (variances + strength * variances.mean() + 1e-12)[:, None]
        weights -= weights.mean(axis=1, keepdims=True)
        scores = (rows - means) @ weights
        deviation = float(scores.std()) or 1.0
        pool = fit_pool({"volunteers": fit.log_probability, "sum": scores / deviation}, labels, people, prior=_PRIOR)
        loss = -float(np.sum(labels.probabilities(people) * log_softmax(pool.log_probability, axis=1)))
        if loss < smallest_loss:
            weights *= pool.exponents["sum"] / deviation
            exponent = pool.exponents["volunteers"]
            smallest_loss, best_fit = loss, _mixed(fit, exponent, weights, means, mechanism, pool.log_probability)
    return best_fit


def _mixed(
    fit: FeatureModelFit, exponent: float, weights: DoubleArray, means: DoubleArray, mechanism: SumShare,
    log_probability: DoubleArray,
) -> FeatureModelFit:  # fmt: skip
    """Return both models as one, in the levels of features that the volunteers' model reads.

    Args:
        fit: The volunteers' model.
        exponent: Its exponent.
        weights: float64 (d, classes): weights of the model of the sum, times its exponent.
        means: float64 (d,): means of the volunteers' features.
        mechanism: The mechanism of a contribution.
        log_probability: float64 (m, classes): of the volunteers, by both models.
    """
    per_level = 1.0 if mechanism.words else 1.0 / (MOST_LEVELS * mechanism.radius)
    constants = exponent * fit.model.means / UNIT - means @ weights
    both_weights = exponent * fit.model.weights / UNIT + per_level * weights
    return FeatureModelFit(whole_number_model(both_weights, constants - constants.mean()), fit.levels, log_probability)
