"""Disagreements with others: a test that holds whatever the graph is.

The laws stand in :mod:`curator.defences.pair_counts`. Each test has a part of the level:

- U, own claims that others deny: two-sided, half of the level. Fakes in a row raise it. A row without a 1 has none.
- D, disagreements: two-sided, half of the level. Too many count against a person only if most of them are its
  own claims. Otherwise they are other people's claims about this person, who could be framed by them.
"""

from __future__ import annotations

import numpy as np

from curator.defences.base import Notes, nobody, silent_on
from curator.defences.pair_counts import PairCounts, RowPairs, distance, drop_and_repeat
from curator.reports.reports import Reports
from curator.reports.rows import flipped_rows
from devices.array_types import BoolArray, FloatArray
from devices.facts import PublicKnowledge


def excess_disagreement(counts: PairCounts, flip: float, level: float) -> FloatArray:
    """float (n,): distance of a failed test from its mean in standard deviations, the larger one; 0 if none failed."""
    from scipy.stats import binom  # imported where it is needed: the import takes as long as a small run

    pq = flip * (1 - flip)
    claims, differ = counts.unconfirmed, counts.disagreements
    own = claims >= counts.unclaimed
    found = np.zeros(len(claims))
    for count, chance, may_be_high in ((claims, pq, np.True_), (differ, 2 * pq, own)):
        low = binom.cdf(count, counts.others, chance) <= level / 4
        high = (binom.sf(count - 1, counts.others, chance) <= level / 4) & may_be_high
        far = distance(count, counts.others * chance, counts.others * chance * (1 - chance))
        found = np.where(low | high, np.maximum(found, far), found)
    return found


def disagreeing(reports: Reports, public: PublicKnowledge, level: float) -> tuple[BoolArray, Notes]:
    """Flag people whose row differs from what others say about them more, or less, than noise can explain."""
    del public
    rows = flipped_rows(reports)
    if rows is None:
        return nobody(reports), silent_on("row of bits under noise of a known law")
    if rows.one_end:
        return nobody(reports), {"not_used": "one end alone reports each pair"}
    counter = RowPairs(rows.ones)

    def excess(left: BoolArray) -> FloatArray:
        return excess_disagreement(counter.among(left), rows.flip, level)

    return drop_and_repeat(excess, rows.reported), {}
