"""Expected number of pairs that HoGS holds at once, before anybody is asked.

HoGS keeps every pair with P_ij >= 1/2 (:mod:`ldpsim.curator.links.hogs`) to average features over it. With much noise
P_ij is nearly the cosine of two rows of noisy features, and a large share of all pairs is kept, however few edges there
are. The share is taken of the pairs of a few made-up people, whose features are drawn with the mechanism's own
thresholds, and over the law of the two reports about a pair without an edge.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator.links.hogs import edge_posterior
from ldpsim.curator.links.similarity import BitRows, Rows, public_rows
from ldpsim.curator.methods.base import Method
from ldpsim.devices.mechanisms import AdjacencyBits, OneBit
from ldpsim.strategies.estimate.asked import PaperQuestion
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.estimate.traffic import miniature

_PEOPLE = 300  # made-up people: 44,850 pairs


def likely_pairs(method: Method, asked: Sequence[PaperQuestion], facts: GraphFacts) -> float | None:
    """Return the expected number of pairs that are kept, true edges included; None for a method that keeps none.

    Args:
        method: The method.
        asked: Its questions, with mechanisms of the full number of people.
        facts: The people.
    """
    mechanisms = [m for q in asked for stage in q.query.plan for ask in stage for m in ask.mechanisms]
    flip = next((m for m in mechanisms if isinstance(m, AdjacencyBits) and m.flip_probability), None)
    least = method.in_force().least_posterior
    if least is None or flip is None or flip.flip_probability is None or flip.flip_odds is None:
        return None
    rows = _rows(facts, next((m for m in mechanisms if isinstance(m, OneBit)), None))
    left, right = np.triu_indices(len(rows), 1)
    cosine = rows.cosine(left, right)
    p = flip.flip_probability
    one_end = flip.reporting == "one-end"
    # ones among the reports about a pair -> chance of them without an edge
    law = {0: 1 - p, 1: p} if one_end else {0: (1 - p) ** 2, 1: 2 * p * (1 - p), 2: p**2}
    share = 0.0
    for ones, chance in law.items():
        exponent = np.full(len(left), 2 * ones - len(law) + 1, np.int8)
        share += chance * float(np.mean(edge_posterior(cosine, exponent, flip.flip_odds) >= least))
    return share * facts.n * (facts.n - 1) / 2 + facts.edges


def _rows(facts: GraphFacts, mechanism: OneBit | None) -> Rows:
    """Return feature rows of made-up people: as reported, or as they are where they are public."""
    people = miniature(facts, min(facts.n, _PEOPLE), seed=0)
    sparse = csr_array((people.feature_values, people.feature_indices, people.feature_indptr),
                       shape=(len(people), people.facts.d))  # fmt: skip
    if mechanism is None:
        return public_rows(sparse)
    chances = mechanism.chance_of_one(sparse.toarray())
    bits = np.random.default_rng(0).random(chances.shape) < chances
    return BitRows(np.packbits(bits, axis=1))
