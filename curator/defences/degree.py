"""Degrees against the row of the same person, and against public caps.

**Judged.** A noisy degree leaves a range of degrees. The ones that both ends report are Bin(k, p^2) + Bin(N - k, q^2)
for a degree k and N others who reported, and a liar cannot raise them alone. A person is flagged if no k of the range
allows the count. With ``one-end`` the own row stands in for it. A degree that no noise explains (below 0, or above the
number of others) is a lie by itself.

**Changed.** Degrees and group degrees are clipped to public caps and the reach of their noise beyond them: honest
reports stay as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.defences.defence import Notes, nobody, noisy_counts, unused_note
from ldpsim.curator.defences.tails import largest_noise, tails
from ldpsim.curator.reports.pairs import agreed_ones
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rows import FlippedRows, flipped_rows
from ldpsim.devices.array_types import BoolArray, IntArray
from ldpsim.devices.mechanisms.counts import GroupDegrees

_WHAT = "degrees or group degrees"


def implausible_degrees(reports: Reports, level: float) -> tuple[BoolArray, Notes]:
    """Flag people whose degree and row cannot both be honest.

    Half of the level is for noise that leaves the range around a degree. A degree that is impossible even so is
    part of the same event. The other half is for the count.
    """
    if (caps := _caps_of_groups(reports, level)) is not None:
        return reports.reported("adjacency") & _beyond_caps(reports.needed("group_degrees"), *caps), {}
    if (noise := noisy_counts(reports, "degrees")) is None:
        return nobody(reports), unused_note(_WHAT)
    n, people, degrees = reports.facts.n, reports.reported("adjacency"), reports.needed("degrees")
    targets = np.arange(n) if reports.source("degrees").reporting == "one-end" else np.full(n, n - 1)
    reach = largest_noise(noise.t, noise.s, level / 4)
    outliers = (degrees < -reach) | (degrees > targets + reach)
    ranges, rows = degree_ranges(reports, targets, level / 2), flipped_rows(reports)
    if ranges is not None and rows is not None:
        count, size, chances = _counted(rows)
        # People who did not report are in a degree and in no count of both ends.
        within = np.clip(ranges[0] - (targets - size), 0, size), np.minimum(ranges[1], size)
        outliers |= outside(count, size, within, chances, level / 2)
    return people & outliers, {}


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
    outliers = np.zeros(len(count), np.bool_)
    for side, true in enumerate((ranges[1], ranges[0])):  # too many ones for the most, too few for the least
        pairs, which = np.unique(np.stack([true, targets - true]), axis=1, return_inverse=True)
        for number, (edges, others) in enumerate(pairs.T.tolist()):
            people = which.ravel() == number
            outliers[people] |= tails(edges, others, *chances)[side][count[people]] <= level / 2
    return outliers


def clip_degrees(reports: Reports, level: float) -> tuple[Reports, Notes]:
    """Clip degrees and group degrees to public caps and the reach of their noise."""
    notes: Notes = {}
    if (caps := _caps_of_groups(reports, level)) is not None:
        values = reports.needed("group_degrees")
        clipped = np.clip(values, *caps)
        notes["clipped_group_degrees"] = int((clipped != values).sum())
        reports = reports.with_arrays(group_degrees=clipped)
    if (noise := noisy_counts(reports, "degrees")) is not None:
        values, reach = reports.needed("degrees"), largest_noise(noise.t, noise.s, level)
        degrees = np.clip(values, -reach, reports.facts.n - 1 + reach)
        notes["clipped_degrees"] = int((degrees != values).sum())
        reports = reports.with_arrays(degrees=degrees)
    return reports, notes or unused_note(_WHAT)


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
