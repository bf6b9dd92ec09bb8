"""Lower bounds on a privacy loss, from trials alone (LDP-Auditor; Arcolezi and Gambs 2024).

Draw reports of two neighbouring values, pick an event with one part of them, and count it
in the rest: with Clopper and Pearson's limits the event has probability at least p under
one value and at most q under the other, and the loss is at least ln(p / q), or
ln((p - delta) / q) where a delta is allowed. Nothing about the mechanism is assumed, so a
bound above the claim proves the claim wrong, up to the stated confidence.

What can be shown grows with the trials: for randomised response at epsilon 1 and 99.9 %
confidence, 10**4 trials a side give about 0.93, 10**5 about 0.98.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Hashable, Sequence

from scipy.stats import beta

SELECTION = 4  # one trial in so many picks the event; the others are counted


def clopper_pearson(hits: int, trials: int, error: float) -> tuple[float, float]:
    """Return (lower, upper): each misses the true probability with probability at most ``error``.

    Raises:
        ValueError: for impossible counts or an impossible error.
    """
    if not 0 <= hits <= trials or trials < 1 or not 0 < error < 1:
        raise ValueError(f"no limits for {hits} of {trials} trials at an error of {error}")
    lower = 0.0 if hits == 0 else float(beta.ppf(error, hits, trials - hits + 1))
    upper = 1.0 if hits == trials else float(beta.ppf(1 - error, hits + 1, trials - hits))
    return lower, upper


def bound_of_counts(hits: int, false: int, trials: tuple[int, int], *, error: float, delta: float = 0.0) -> float:
    """Lower bound on the loss from an event counted on both sides; wrong with probability at most ``error``.

    Args:
        hits: Number of trials with the event under the first value.
        false: Number of trials with the event under the second value.
        trials: Numbers of trials under the first and the second.
        error: Error probability of both limits together.
        delta: Delta of the claim.
    """
    lower = clopper_pearson(hits, trials[0], error / 2)[0] - delta
    upper = clopper_pearson(false, trials[1], error / 2)[1]
    return math.log(lower / upper) if lower > upper else 0.0


def bound_of_event(
    first: Sequence[Hashable], second: Sequence[Hashable], event: Container[Hashable], *, error: float,
    delta: float = 0.0,
) -> tuple[float, int, int]:  # fmt: skip
    """Return :func:`bound_of_counts` of an event, and the numbers of trials with it under either value."""
    hits, false = (sum(report in event for report in reports) for reports in (first, second))
    return bound_of_counts(hits, false, (len(first), len(second)), error=error, delta=delta), hits, false


def lower_bound(first: Sequence[Hashable], second: Sequence[Hashable], *, error: float, delta: float = 0.0) -> float:
    """Lower bound on the loss between two values, from reports of each.

    Args:
        first, second: Reports, in the order in which they were drawn.
        error: Chance that the bound is above the true loss.
        delta: Delta of the claim.

    Raises:
        ValueError: for fewer than eight reports of either.
    """
    if min(len(first), len(second)) < 8:
        raise ValueError("at least 8 trials a side are needed")
    best = 0.0
    for one, other in ((first, second), (second, first)):  # both ways; each may err half as often
        (picks, rest), (other_picks, other_rest) = (
            (side[: len(side) // SELECTION], side[len(side) // SELECTION :]) for side in (one, other)
        )
        event, _ = pick_event(picks, other_picks)
        best = max(best, bound_of_event(rest, other_rest, event, error=error / 2, delta=delta)[0])
    return best


def pick_event(
    first: Sequence[Hashable], second: Sequence[Hashable], *, delta: float = 0.0
) -> tuple[frozenset[Hashable], float]:
    """Return the outcomes, by falling ratio, whose own counts give the highest bound, and that bound.

    The bound chose its own event, so it proves nothing: the event must be counted in other trials.
    """
    yes, no = Counter(first), Counter(second)
    order = sorted(yes, key=lambda outcome: (yes[outcome] + 0.5) / (no[outcome] + 0.5), reverse=True)
    best, size, hits, false = -1.0, 1, 0, 0
    for place, outcome in enumerate(order, 1):
        hits, false = hits + yes[outcome], false + no[outcome]
        if place > 1 and place % max(1, len(order) // 64):
            continue  # outcomes may be many: try some sixty events
        bound = bound_of_counts(hits, false, (len(first), len(second)), error=0.01, delta=delta)
        if bound > best:
            best, size = bound, place
    return frozenset(order[:size]), best
