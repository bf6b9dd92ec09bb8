"""Loss of Laplace noise on a *vector*: what holds, by its privacy loss distribution, and what the papers print.

**What holds.** dp-accounting discretises the loss of one Poisson-sampled query ("connect the dots", which rounds up),
convolves it with itself, and reads epsilon off the result, for removal and addition of a person. Every figure is an
upper bound; its excess is set by the width of the grid, chosen here for an excess below about 2e-4 (plus 1e-6 of
epsilon). A posterior that changes by 2 in the L1 norm has ``loss`` = 2 lambda: one coordinate that moves by 2 dominates
any other way to spend those 2.

**What the PrivGnn paper prints.** Rényi divergences of the Poisson-sampled Laplace mechanism, at sensitivity 1:

* Laplace mechanism, order a (Mironov 2017, Table II), l = sensitivity / scale:

      e(a) = ln(a/(2a-1) e^((a-1) l) + (a-1)/(2a-1) e^(-a l)) / (a-1)

* Poisson sampling with probability g, integer a >= 2 (Zhu and Wang 2019), without the
  factor 3 that the paper's Theorem 8 prints before the terms from k = 3 on: for Laplace
  noise the sum without it is exact, and only without it are the paper's tables found:

      ln((1-g)^(a-1) (1 + (a-1) g) + sum_{k=2..a} C(a,k) (1-g)^(a-k) g^k e^((k-1) e(k))) / (a-1)

* Conversion: n e(a) + ln(1 / delta) / (a-1), the same order in both terms (the paper's
  equations 3 and 11 print e(a-1) in the first), smallest over a = 2 .. 32.

**Its PATE rows** (Papernot et al. 2017, Theorem 2). One vote moves, and a query loses at most 2 lambda. The moments
bound over n queries does not depend on the votes:

    eps = min_{l=1..8} (n min(2 lambda^2 l (l+1), 2 lambda l) + ln(1 / delta)) / l

The smaller figures of the tables (all of PATE-M's that lie below it) do. They may not be published.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from ldpsim.curator.owner.privacy.label import amplified, sampled_once

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


def laplace_epsilon_once(*, loss: float, queries: int, delta: float, gamma: float) -> float:
    """Return the epsilon at ``delta`` of noisy vectors that share one sample."""
    return sampled_once(gamma, delta, lambda d: laplace_epsilon(loss=loss, queries=queries, delta=d))


def laplace_rdp(loss: float, order: int) -> float:
    """Rényi divergence of order ``order`` of the Laplace mechanism, ``loss`` = sensitivity / scale."""
    a = order
    up = math.log(a / (2 * a - 1)) + (a - 1) * loss
    down = math.log((a - 1) / (2 * a - 1)) - a * loss
    return float(np.logaddexp(up, down)) / (a - 1)


def poisson_rdp(loss: float, order: int, gamma: float) -> float:
    """:func:`laplace_rdp` on data of which each person is drawn with probability ``gamma``, afresh for each query."""
    if gamma == 1.0:
        return laplace_rdp(loss, order)
    stays, drawn = math.log1p(-gamma), math.log(gamma)
    terms = [(order - 1) * stays + math.log1p((order - 1) * gamma)]
    for k in range(2, order + 1):
        ways = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
        terms.append(ways + (order - k) * stays + k * drawn + (k - 1) * laplace_rdp(loss, k))
    return float(logsumexp(terms)) / (order - 1)


def rdp_epsilon(*, loss: float, queries: int, delta: float, gamma: float = 1.0) -> float:
    """Return the epsilon at ``delta`` of ``queries`` queries, a fresh sample for each, by the best order up to 32."""
    return min(queries * poisson_rdp(loss, a, gamma) + math.log(1 / delta) / (a - 1) for a in range(2, 33))


def moments_epsilon(*, lambda_: float, queries: int, delta: float) -> float:
    """Return the moments bound at ``delta`` on the votes of ``queries`` queries."""
    return min((queries * min(2 * lambda_**2 * moment * (moment + 1), 2 * lambda_ * moment) + math.log(1 / delta))
               / moment for moment in range(1, 9))  # fmt: skip
