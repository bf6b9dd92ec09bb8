"""Share of the budget for private features, chosen from public facts (``--feature-share auto``).

Links are worth their budget up to a point. A pair that both ends report weighs 2 eps_a in log-odds, a pair that
one end reports eps_a; it is believed once this exceeds the log-odds of a pair without a report, about ln n. So

    eps_links = (ln n + MARGIN) / reports of a pair,      rest = eps - eps_links
    eps_f     = rest, if the reports can then tell classes apart:  tanh(rest / 2)^2 sqrt(d L / C) >= LEAST_SIGNAL
    share     = eps_f / eps,                              else 0: features are not asked at all

A 1-bit report with eps_f keeps tanh(eps_f / 2)^2 of a feature's squared signal. Class means of d columns are
estimated from L / C training labels a class, so d columns of equal signal stand out of this noise in proportion to
sqrt(d L / C). n, d, C, L and eps are known before anybody is asked; the homophily, the degrees and the strength of the
features are not. The two constants were fitted on generated graphs (docs/results/earlier.md).
"""

from __future__ import annotations

import math

from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import Reporting

MARGIN = 2.75  # log-odds that a reported pair shall have beyond ln n
LEAST_SIGNAL = 100.0  # of all features, for which they are asked
_MOST = 0.9  # the links keep a part of every budget


def feature_share(facts: PublicFacts, labels: int, epsilon: float, reporting: Reporting = "both") -> float:
    """Return the share, in [0, 0.9], rounded to hundredths.

    Args:
        facts: Sizes of the population.
        labels: Number of training labels.
        epsilon: Budget of one link and one feature together.
        reporting: Whether both ends report a pair.

    >>> facts = PublicFacts(n=2700, d=1400, classes=7)
    >>> [feature_share(facts, 1350, epsilon) for epsilon in (5.0, 8.0)]
    [0.0, 0.33]
    """
    of_links = (math.log(facts.n) + MARGIN) / (2 if reporting == "both" else 1)
    rest = epsilon - of_links
    if rest <= 0 or not facts.d or not facts.classes:
        return 0.0
    signal = math.tanh(rest / 2) ** 2 * math.sqrt(facts.d * labels / facts.classes)
    return round(min(rest / epsilon, _MOST), 2) if signal >= LEAST_SIGNAL else 0.0
