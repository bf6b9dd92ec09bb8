"""The number of ones in a row against what an honest row can hold.

A row of N bits of a person with k neighbours holds Bin(k, p) + Bin(N - k, q) ones. If the person also reports a
noisy degree, k lies in a range around it: the noise leaves the range with half of the level, and the ones leave what
any k of the range allows with the other half. Without a degree, every k of 0 .. N is allowed for half of the level.
The other half goes to the comparison with what others report about the person, whose number of ones has the same law:
given D disagreements, the own claims among them are Bin(D, 1/2) (:mod:`curator.defences.pair_counts`).
Only too many own claims count there: others could otherwise frame a person.

All tails are exact; none is a normal approximation. Both halves together exceed no level, whatever the degrees are.
"""

from __future__ import annotations

import numpy as np

from curator.defences.base import Notes, nobody, silent_on, step_noise
from curator.defences.pair_counts import PairCounts, RowPairs, distance, drop_and_repeat
from curator.defences.tails import at_least, largest_noise, probability_at_most
from curator.reports.reports import Reports
from curator.reports.rows import flipped_rows
from devices.array_types import BoolArray, FloatArray, IntArray
from devices.facts import PublicKnowledge


def degree_ranges(reports: Reports, targets: IntArray, level: float) -> tuple[IntArray, IntArray] | None:
    """Return the smallest and the largest degree that each person's noisy degree allows; None without such reports.

    Args:
        reports: The reports.
        targets: int64 (n,): the largest degree that there is.
        level: Probability that an honest person's degree is outside.
    """
    noise = step_noise(reports, "degrees")
    if noise is None or reports.source("degrees").reporting != reports.asks["adjacency"].mechanisms[0].reporting:
        return None
    reach = largest_noise(noise.t, noise.s, level / 2)
    # An impossible range (a degree far beyond the cap) is the nearest possible degree.
    near = np.clip(reports.needed("degrees"), -reach, targets + reach)
    return np.clip(near - reach, 0, targets), np.clip(near + reach, 0, targets)


def outside(
    count: IntArray, targets: IntArray, ranges: tuple[IntArray, IntArray], chances: tuple[float, float], level: float
) -> BoolArray:
    """bool (n,): whether no degree of the range allows the count of ones, two-sided at this level.

    Args:
        count: int64 (n,): ones.
        targets: int64 (n,): N.
        ranges: int64 (n,) each, smallest and largest degree.
        chances: Probabilities of a one about an edge, and about another pair; the first one is the larger.
        level: Probability that an honest person's count is outside.
    """
    found = np.zeros(len(count), np.bool_)
    for i, (ones, size, least, most) in enumerate(zip(count, targets, *ranges, strict=True)):
        high = at_least(int(ones), int(most), int(size - most), *chances) <= level / 2
        found[i] = high or probability_at_most(int(ones), int(least), int(size - least), *chances) <= level / 2
    return found


def excess_claims(counts: PairCounts, level: float) -> FloatArray:
    """float (n,): distance of the own claims from half of the disagreements, where they are too many; else 0."""
    from scipy.stats import binom  # imported where it is needed: the import takes as long as a small run

    claims, differ = counts.unconfirmed, counts.disagreements
    failed = (differ > 0) & (binom.sf(claims - 1, differ, 0.5) <= level)
    return np.asarray(np.where(failed, distance(claims, differ / 2, differ / 4), 0.0))


def overweight(reports: Reports, public: PublicKnowledge, level: float) -> tuple[BoolArray, Notes]:
    """Flag people whose row holds more or fewer ones than an honest row can."""
    del public
    rows = flipped_rows(reports)
    if rows is None:
        return nobody(reports), silent_on("row of bits under noise of a known law")
    people, targets, ones = rows.reported, rows.lengths, rows.weights
    chances = (1 - rows.flip, rows.flip)
    ranges = degree_ranges(reports, targets, level / 2)
    if ranges is not None:
        return people & outside(ones, targets, ranges, chances, level / 2), {"degree": "reported"}
    found = people & outside(ones, targets, (np.zeros_like(targets), targets), chances, level / 2)
    if rows.one_end:
        return found, {"degree": "any"}
    counter = RowPairs(rows.ones)
    found |= drop_and_repeat(lambda left: excess_claims(counter.among(left), level / 2), people & ~found)
    return found, {"degree": "as others say"}
