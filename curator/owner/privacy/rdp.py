"""The PrivGnn paper's analysis: Rényi divergences of the Poisson-sampled Laplace mechanism.

* Laplace mechanism, order a (Mironov 2017, Table II), l = sensitivity / scale:

      e(a) = ln(a/(2a-1) e^((a-1) l) + (a-1)/(2a-1) e^(-a l)) / (a-1)

* Poisson sampling with probability g, integer a >= 2 (Zhu and Wang 2019), without the
  factor 3 that the paper's Theorem 8 prints before the terms from k = 3 on: for Laplace
  noise the sum without it is exact, and only without it are the paper's tables found:

      ln((1-g)^(a-1) (1 + (a-1) g) + sum_{k=2..a} C(a,k) (1-g)^(a-k) g^k e^((k-1) e(k))) / (a-1)

* Conversion: n e(a) + ln(1 / delta) / (a-1), the same order in both terms (the paper's
  equations 3 and 11 print e(a-1) in the first), smallest over a = 2 .. 32.

The paper takes sensitivity 1. Two data sets can give the posteriors e_1 and e_2, so the
noisy posterior has sensitivity 2, and its loss needs l = 2 lambda.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln, logsumexp

from ldpsim.curator.owner.privacy.sampling import sampled_once

PAPER_ORDERS: Sequence[int] = range(2, 33)


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


def rdp_epsilon(
    *, loss: float, queries: int, delta: float, gamma: float = 1.0, orders: Sequence[int] = PAPER_ORDERS
) -> tuple[float, int]:
    """Return (epsilon at ``delta``, the order that gave it) of ``queries`` queries, a fresh sample for each."""
    each = ((queries * poisson_rdp(loss, a, gamma) + math.log(1 / delta) / (a - 1), a) for a in orders)
    return min(each)


def rdp_epsilon_once(*, loss: float, queries: int, delta: float, gamma: float) -> float:
    """Return the epsilon at ``delta`` of queries that share one sample."""
    return sampled_once(gamma, delta, lambda d: rdp_epsilon(loss=loss, queries=queries, delta=d)[0])
