"""Base of the defences: a verdict on people, and a change of reports.

A defence reads reports alone. It never learns who lies. Its level is the
probability that one honest person is flagged, whatever the data of that person and of everybody else,
if all others are honest too.

Exact tails of the counts and of the noise that the defences test.

Among k true bits and N - k false ones, each reported as 1 with probability h if it is true and f if it is false, the
number of ones is the sum of two binomials, Bin(k, h) + Bin(N - k, f). Its law is the convolution of the two.

Degrees against the row of the same person, and against public caps.

**Judged.** A noisy degree leaves a range of degrees. The ones that both ends report are Bin(k, p^2) + Bin(N - k, q^2)
for a degree k and N others who reported, and a liar cannot raise them alone. A person is flagged if no k of the range
allows the count. With ``one-end`` the own row stands in for it, and noisy rows are compared by their sum. A degree
that no noise explains (below 0, or above the number of others) is a lie by itself.

**Changed.** Degrees, group degrees and entries of noisy rows are clipped to public caps and the reach of their
noise beyond them: honest reports stay as they are. A degree becomes the mean of itself and of the count's estimate
(count - q^2 N) / (p - q), by inverse variances. So a lie that passes the test moves it by a part of what it claims.

Both ends of a pair must agree: a one-sided claim is dropped.

Two reports about a pair multiply the odds of an edge by e^(2 w) if both are 1, by 1 if they differ, and by
e^(-2 w) if both are 0, where w is the log-odds of one reported bit (``Mechanism.weight``). A claim that the other
end denies therefore says nothing, and the odds stay those of the prior. Without other knowledge these are far below
1: the pair is no edge. A prior from features or degrees can be made by a liar. So the rule here does not ask it: a 1
that the other end does not confirm becomes a 0 before any method reads the row. The same holds for a claim about
a person who did not report.

A fake claim about an honest person then counts with the probability of a flip. A true edge between honest people is
kept with probability (1 - flip)^2, which is the cost. Rows of which each pair has one reporter (``one-end``) stay
as they are: there is nothing to compare.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rows import FlippedRows, agreed_ones, flipped_rows
from ldpsim.devices.array_types import BoolArray, FloatArray, IntArray
from ldpsim.devices.mechanisms.counts import GroupDegrees, NoisyCounts
from ldpsim.devices.mechanisms.discrete_laplace import variance

Notes = dict[str, Any]  # JSON values, for result.json
Judge = Callable[[Reports, float], tuple[BoolArray, Notes]]
Mend = Callable[[Reports, float], tuple[Reports, Notes]]


@dataclass(frozen=True)
class Defence:
    """One defence.

    Args:
        judge: Flags people, bool (n,), at a level for one honest person; None: it flags nobody.
        mend: Changes reports, at the same level; None: it changes none.
    """

    judge: Judge | None = field(default=None, repr=False)
    mend: Mend | None = field(default=None, repr=False)


def noisy_counts(reports: Reports, field: str) -> NoisyCounts | None:
    """Return the mechanism of a field's numbers; None where there are none, or where the noise is another."""
    asked = None if field not in reports.arrays else reports.source(field)
    return asked if isinstance(asked, NoisyCounts) else None


def nobody(reports: Reports) -> BoolArray:
    """bool (n,), False for everybody."""
    return np.zeros(reports.facts.n, np.bool_)


def silent_on(what: str) -> Notes:
    """Return the note of a defence that finds nothing to work on."""
    return {"not_used": f"the reports hold no {what}"}


_WIDTH = 45  # standard deviations, and a margin: what lies beyond has no weight that a float could add
_DIRECT = 1 << 22  # multiplications of a convolution beyond which it is done by Fourier transform


@lru_cache(maxsize=1024)
def ones_law(true: int, false: int, hit: float, false_hit: float) -> tuple[int, FloatArray]:
    """Return (first, law): law[x - first] is the probability of x ones, by the definition above."""
    starts, parts = zip(*(_binomial(size, chance) for size, chance in ((true, hit), (false, false_hit))), strict=True)
    if len(parts[0]) * len(parts[1]) <= _DIRECT:
        law = np.convolve(*parts)
    else:
        from scipy.signal import fftconvolve  # as long as a run's own imports: only where it is needed

        law = np.maximum(fftconvolve(*parts), 0)
    return sum(starts), law


def at_least(count: int, true: int, false: int, hit: float, false_hit: float) -> float:
    """Probability of ``count`` ones or more."""
    first, law = ones_law(true, false, hit, false_hit)
    return float(law[max(0, count - first) :].sum())


def probability_at_most(count: int, true: int, false: int, hit: float, false_hit: float) -> float:
    """Probability of ``count`` ones or fewer."""
    first, law = ones_law(true, false, hit, false_hit)
    return float(law[: max(0, count - first + 1)].sum())


def largest_noise(t: int, s: int, level: float) -> int:
    """Return the smallest L with Pr[Z > L] <= level, for discrete Laplace noise Z of scale t/s."""
    rate = s / t
    # Pr[Z > L] = a^(L + 1) / (1 + a), a = e^-rate
    exact = (-math.log(level) - math.log1p(math.exp(-rate))) / rate - 1
    return max(0, math.ceil(exact))


def largest_sum(t: int, s: int, terms: int, level: float) -> float:
    """Return an x with Pr[Z_1 + ... + Z_terms >= x] <= level, by Chernoff's bound.

    E e^(v Z) = (1 - a)^2 / ((1 - a e^v) (1 - a e^-v)) for v below the rate s/t.
    """
    rate = s / t
    v = rate * np.linspace(0, 1, 2002)[1:-1]
    a = math.exp(-rate)
    # 1 - a e^v = -expm1(v - rate)
    growth = 2 * math.log1p(-a) - np.log(-np.expm1(v - rate)) - np.log(-np.expm1(-v - rate))
    return float(np.min((terms * growth - math.log(level)) / v))


def _binomial(size: int, chance: float) -> tuple[int, FloatArray]:
    """Return (first, law) of a binomial without the values that are too far from its mean to matter."""
    from scipy.stats import binom  # imported where it is needed: the import takes as long as a small run

    reach = _WIDTH * math.sqrt(size * chance * (1 - chance)) + 1000
    first = max(0, math.floor(size * chance - reach))
    last = min(size, math.ceil(size * chance + reach))
    return first, np.asarray(binom.pmf(np.arange(first, last + 1), size, chance), np.float64)


_WHAT = "degrees, group degrees or noisy rows"


def implausible_degrees(reports: Reports, level: float) -> tuple[BoolArray, Notes]:
    """Flag people whose degree and row cannot both be honest.

    Half of the level is for noise that leaves the range around a degree. A degree that is impossible even so is
    part of the same event. The other half is for the count.
    """
    if (caps := _caps_of_groups(reports, level)) is not None:
        return reports.reported("adjacency") & _beyond_caps(reports.needed("group_degrees"), *caps), {}
    if (noise := noisy_counts(reports, "degrees")) is None:
        return nobody(reports), silent_on(_WHAT)
    n, people, degrees = reports.facts.n, reports.reported("adjacency"), reports.needed("degrees")
    targets = np.arange(n) if reports.source("degrees").reporting == "one-end" else np.full(n, n - 1)
    reach = largest_noise(noise.t, noise.s, level / 4)
    found = (degrees < -reach) | (degrees > targets + reach)
    ranges = degree_ranges(reports, targets, level / 2)
    rows = flipped_rows(reports)
    if ranges is not None and rows is not None:
        count, size, chances = _counted(rows)
        # People who did not report are in a degree and in no count of both ends.
        within = np.clip(ranges[0] - (targets - size), 0, size), np.minimum(ranges[1], size)
        found |= outside(count, size, within, chances, level / 2)
    elif ranges is not None and (noise := noisy_counts(reports, "noisy_rows")) is not None:
        sums = reports.needed("noisy_rows").sum(axis=1, dtype=np.float64) / noise.grid
        far = largest_sum(noise.t, noise.s, n - 1, level / 4) / noise.grid
        found |= (sums > ranges[1] + far) | (sums < ranges[0] - far)
    return people & found, {}


def degree_ranges(reports: Reports, targets: IntArray, level: float) -> tuple[IntArray, IntArray] | None:
    """Return the smallest and the largest degree that each person's noisy degree allows; None without such reports.

    Args:
        reports: The reports.
        targets: int64 (n,): the largest degree that there is.
        level: Probability that an honest person's degree is outside.
    """
    noise = noisy_counts(reports, "degrees")
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


def clip_degrees(reports: Reports, level: float) -> tuple[Reports, Notes]:
    """Clip degrees, group degrees and noisy rows, and join degrees with what both ends say."""
    notes: Notes = {}
    if (caps := _caps_of_groups(reports, level)) is not None:
        given = reports.needed("group_degrees")
        clipped = np.clip(given, *caps)
        notes["clipped_group_degrees"] = int((clipped != given).sum())
        reports = reports.with_arrays(group_degrees=clipped)
    if (noise := noisy_counts(reports, "noisy_rows")) is not None:
        given = reports.needed("noisy_rows")
        reach = largest_noise(noise.t, noise.s, level / reports.facts.n)
        entries = np.clip(given, -reach, noise.grid + reach)
        notes["clipped_entries"] = int((entries != given).sum())
        reports = reports.with_arrays(noisy_rows=entries)
    if (noise := noisy_counts(reports, "degrees")) is not None:
        joined, clipped_degrees = _joined_degrees(reports, reports.needed("degrees"), noise, level)
        notes["clipped_degrees"] = clipped_degrees
        reports = reports.with_arrays(degrees=joined)
    return reports, notes or silent_on(_WHAT)


def _joined_degrees(
    reports: Reports, given: IntArray, noise: NoisyCounts, level: float
) -> tuple[IntArray, int]:  # fmt: skip
    """Return clipped degrees, joined with the count that both ends report if there is one; and the number clipped."""
    reach, n = largest_noise(noise.t, noise.s, level), reports.facts.n
    clipped = np.clip(given, -reach, n - 1 + reach)
    changed = int((clipped != given).sum())
    rows = flipped_rows(reports)
    if rows is None or rows.one_end or reports.source("degrees").reporting == "one-end" or not rows.flip:
        return clipped, changed
    count, size, (hit, false_hit) = _counted(rows)
    estimate = (count - false_hit * size) / (hit - false_hit)
    true = np.clip(estimate, 0, size)
    spread = (true * hit * (1 - hit) + (size - true) * false_hit * (1 - false_hit)) / (hit - false_hit) ** 2
    trust = spread / (spread + variance(noise.t, noise.s))
    heard = reports.reported("adjacency")
    whole = estimate * (n - 1) / np.maximum(size, 1)  # people who did not report are as others
    mean: FloatArray = trust * clipped + (1 - trust) * whole
    return np.where(heard, np.rint(mean).astype(np.int64), given), changed


def _counted(rows: FlippedRows) -> tuple[IntArray, IntArray, tuple[float, float]]:
    """Return the ones that both ends report (or the row's), their possible number, and their two chances."""
    if rows.one_end:
        return rows.weights, rows.lengths, (1 - rows.flip, rows.flip)
    heard = rows.reported
    both = np.asarray(agreed_ones(rows.ones).astype(np.int32) @ heard.astype(np.int32), np.int64)
    return both, np.int64(heard.sum()) - heard, ((1 - rows.flip) ** 2, rows.flip**2)


def _caps_of_groups(reports: Reports, level: float) -> tuple[int, NDArray[np.int64]] | None:
    """Return the smallest and the largest group degrees that noise can explain, the largest ones by group.

    None without group degrees.
    """
    noise = noisy_counts(reports, "group_degrees")
    if not isinstance(noise, GroupDegrees):
        return None
    grouping = None if reports.grouping is None else tuple(reports.grouping.tolist())
    groups = noise.groups_of(grouping)
    count = reports.needed("group_degrees").shape[1]
    reach = largest_noise(noise.t, noise.s, level / (2 * count))
    return -reach, np.bincount(groups, minlength=count) + reach


def _beyond_caps(counts: NDArray[np.int64], low: int, high: NDArray[np.int64]) -> BoolArray:
    return np.asarray(((counts < low) | (counts > high)).any(axis=1))


def keep_agreed(reports: Reports, level: float) -> tuple[Reports, Notes]:
    """Drop every 1 that the other end does not confirm."""
    del level
    ones = reports.adjacency
    if ones is None:
        return reports, silent_on("row of bits")
    if reports.source("adjacency").reporting == "one-end":
        return reports, {"not_used": "one end alone reports each pair"}
    agreed = agreed_ones(ones)
    return reports.with_arrays(adjacency=agreed), {
        "dropped_claims": int(ones.nnz - agreed.nnz),
        "kept": int(agreed.nnz),
    }
