"""Privacy loss of the noisy *posterior*: the Laplace mechanism's privacy loss distribution.

dp-accounting discretises the loss of one Poisson-sampled query ("connect the dots", which
rounds up), convolves it with itself, and reads epsilon off the result, for removal and
addition of a person. Every figure is an upper bound; its excess is set by the width of
the grid, chosen here for an excess below about 2e-4 (plus 1e-6 of epsilon).

A posterior that changes by 2 in the L1 norm has ``loss`` = 2 lambda: one coordinate that
moves by 2 dominates any other way to spend those 2.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ldpsim.curator.owner.privacy.rdp import poisson_rdp
from ldpsim.curator.owner.privacy.sampling import amplified, sampled_once

_EXCESS = 2e-4  # aimed at; plus 2e-7 of the composed loss, so that long compositions stay cheap
_FEWEST, _MOST = 1 << 14, 1 << 21  # cells across the composed loss; the upper limit bounds time and memory


def _interval(loss: float, gamma: float, queries: int) -> float:
    """Width of a cell of the grid.

    Rounding a loss to its two neighbours on the grid with the mean of e^-loss kept costs a
    query less than width^2 / 5, so width^2 = 5 excess / queries is enough (beyond 10,000
    queries the grid is coarser and the excess larger, up to 0.1 %). The composed
    loss spans its mean (at most the divergence of order 2) plus ten standard deviations
    (each at most the largest loss of a query), and never more than all largest losses.
    """
    largest = amplified(loss, gamma)
    span = min(queries * largest, queries * poisson_rdp(loss, 2, gamma) + 10 * math.sqrt(queries) * largest)
    wanted = math.sqrt(5 * (_EXCESS + 2e-7 * span) / queries)
    return min(max(wanted, span / _MOST), span / _FEWEST)


@lru_cache(maxsize=4)  # one release is asked about at several deltas
def _composed(loss: float, gamma: float, queries: int) -> Any:
    from dp_accounting.pld import privacy_loss_distribution  # takes a second to import

    return privacy_loss_distribution.from_laplace_mechanism(
        1.0 / loss, sampling_prob=gamma, value_discretization_interval=_interval(loss, gamma, queries)
    ).self_compose(queries)


@lru_cache(maxsize=256)  # a plan that looks for a budget asks for the same ones again
def laplace_epsilon(*, loss: float, queries: int, delta: float, gamma: float = 1.0) -> float:
    """Return the epsilon at ``delta`` of ``queries`` noisy vectors, a fresh sample for each.

    Args:
        loss: Sensitivity / scale of one query.
        queries: Number of queries, at least 1.
        delta: 1e-9 or more. The convolution is a Fourier transform, whose rounding shows
            from 1e-11 on (measured against the exact sum of ``label``).
        gamma: Probability that a person is in a query's sample.
    """
    pure = queries * amplified(loss, gamma)
    return min(float(_composed(loss, gamma, queries).get_epsilon_for_delta(delta)), pure)


def laplace_edge_epsilon(*, loss: float, queries: int, delta: float, gamma: float = 1.0) -> float:
    """Return the epsilon at ``delta`` of noisy vectors, where one private edge changes; a fresh sample for each.

    Both ends of the edge are drawn with probability g = gamma^2, and otherwise the two laws
    are the same law R, which need be neither of the others. From the profile of one query on
    all of the data, delta(e) = 1 - exp((e - loss) / 2), the amplified one is, in both directions,

        delta'(ln(1 + g (e^e - 1))) = g delta(e)    (e >= 0; advanced joint convexity)

    (Balle, Barthe and Gaboardi 2018, Theorem 2). One distribution of the loss is built from
    that profile and composed. The figure is an upper bound.
    """
    g = gamma**2
    if g == 1.0:
        return laplace_epsilon(loss=loss, queries=queries, delta=delta)
    pure = queries * amplified(loss, g)
    return min(float(_composed_edge(loss, g, queries).get_epsilon_for_delta(delta)), pure)


@lru_cache(maxsize=4)
def _composed_edge(loss: float, g: float, queries: int) -> Any:
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    width = _interval(loss, g, queries)
    steps = math.ceil(amplified(loss, g) / width)
    above = np.arange(steps + 1) * width
    base = above + np.log1p(-(1.0 - g) * np.exp(-above)) - math.log(g)  # ln(1 + (e^above - 1) / g)
    above_deltas = g * -np.expm1(np.minimum(base - loss, 0.0) / 2)
    # Both directions have this profile, so delta(-e) = 1 - e^-e (1 - delta(e)).
    below_deltas = -np.expm1(-above[:0:-1]) + np.exp(-above[:0:-1]) * above_deltas[:0:-1]
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots(
        width, np.arange(-steps, steps + 1), np.concatenate([below_deltas, above_deltas])
    )
    return privacy_loss_distribution.PrivacyLossDistribution(pmf).self_compose(queries)


def laplace_epsilon_once(*, loss: float, queries: int, delta: float, gamma: float) -> float:
    """Return the epsilon at ``delta`` of noisy vectors that share one sample."""
    return sampled_once(gamma, delta, lambda d: laplace_epsilon(loss=loss, queries=queries, delta=d))
