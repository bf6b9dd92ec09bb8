"""Audit of anybody's randomiser: a Python callable, known by its reports alone or also by a stated distribution.

One half of the trials of every value picks the two values and the event; the other half counts it. So one bound alone
is stated, at the full confidence. It proves a claim wrong where it lies above it. A bound below the claim proves
nothing about the claim.

A report is laid out as a tuple of plain values. An event is about the whole report, one coordinate, or several
coordinates together. A coordinate of many different numbers is cut into bins, at the quantiles of the reports that may
choose the event.

A stated distribution, value -> {report: probability} (``--law``), gives its exact loss over the values. A second row
compares it with the draws: each probability has to lie within Clopper and Pearson's limits of its own count, and no
report may be drawn that it does not have.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import count, islice, pairwise, permutations
from typing import Any, NamedTuple

import numpy as np

from ldpsim.curator.attacks.bounds import bound_of_event, clopper_pearson, pick_event
from ldpsim.curator.attacks.distributions import OutputDistribution, epsilon_at, worst_ratio
from ldpsim.curator.attacks.mechanism_audit import AuditRow, Effort, within

BINS = 32
_MOST_COORDINATES = 64
_PLAIN = 256  # largest number of different values of a coordinate that is not cut into bins
_BLOCKS = 50  # of trials, between which the progress is told
_COMPARED = 8  # largest number of pairs that are compared by their exact bounds
_TOGETHER = 4  # largest number of coordinates in one event, beside the whole report
_SUM = 1e-6
_LARGEST = sys.float_info.max / 2  # the difference of two numbers below it is a float
Flat = tuple[Hashable, ...]
StatedDistribution = Callable[[Any], Mapping[Any, float]]


@dataclass(frozen=True)
class Randomiser:
    """A callable to audit.

    Args:
        name: Name in the row.
        draw: Value -> report; trials must be independent.
        values: Values that are compared, two or more.
        law: Value -> {report: probability}, None where none is stated.
        note: Words about the values, for the row.
    """

    name: str
    draw: Callable[[Any], Any]
    values: Sequence[Any]
    law: StatedDistribution | None = None
    note: str = ""

    def report(self, value: Any) -> Flat:
        """Draw a report and lay it out; ValueError where the callable raises."""
        try:
            report = self.draw(value)
        except Exception as error:
            raise ValueError(f"{self.name}({in_words(value)}) raised {type(error).__name__}: {error}") from error
        return flattened(report)


class _Event(NamedTuple):
    score: float  # the bound by which it was chosen
    first: int  # place of the value under which it is likelier
    second: int
    places: tuple[int, ...]  # coordinates that it is about; none: the whole report
    outcomes: frozenset[Hashable]


class _Bin(str):
    """Words of a bin of numbers."""

    __slots__ = ()
    __repr__ = str.__str__


def audit_randomiser(
    randomiser: Randomiser, effort: Effort, *, claimed: float, delta: float = 0.0,
    progress: Callable[[float], None] = lambda share: None,
) -> list[AuditRow]:  # fmt: skip
    """Return the row of the values, and the row of the stated distribution where there is one.

    Args:
        randomiser: What is audited.
        effort: Trials and confidence.
        claimed: Claimed epsilon.
        delta: Delta of the claim.
        progress: Called with the share that is done.

    Raises:
        ValueError: for a report that cannot be counted, or a callable that raises.
    """
    name, values, trials = randomiser.name, randomiser.values, effort.trials
    stated = [_stated(randomiser, value) for value in values] if randomiser.law else []
    effort = Effort(trials, effort.confidence, 2 if stated else 1, effort.seed)
    drawn: list[list[Flat]] = [[] for _ in values]
    while len(drawn[0]) < trials:
        block = min(-(-trials // _BLOCKS), trials - len(drawn[0]))
        for reports, value in zip(drawn, values, strict=True):
            reports += [randomiser.report(value) for _ in range(block)]
        progress(len(drawn[0]) / trials)
    half = trials // 2
    cut = _cut_into_bins(drawn, half)
    event = _choose([reports[:half] for reports in drawn], [reports[:half] for reports in cut], delta, effort.error)
    sides = [_seen(drawn[side][half:], cut[side][half:], event.places) for side in (event.first, event.second)]
    bound, hits, false = bound_of_event(sides[0], sides[1], event.outcomes, error=effort.error, delta=delta)
    pair = f"{in_words(values[event.first])} against {in_words(values[event.second])}"
    about = _event_in_words(event, len(drawn[0][0]))
    words = [f"{pair}: {about}, {hits:,} and {false:,} times of {trials - half:,}"]
    exact = None
    if stated:
        loss = (lambda a, b: epsilon_at(a, b, delta)) if delta else worst_ratio
        exact, a, b = max((loss(stated[a], stated[b]), a, b) for a, b in permutations(range(len(stated)), 2))
        words.append(f"stated law: {in_words(values[a])} against {in_words(values[b])}")
    words += [f"delta {delta:g}"] * bool(delta) + [randomiser.note] * bool(randomiser.note)
    rows = [AuditRow(name, "value", claimed, exact, bound, effort.confidence, trials, within(claimed, exact, bound),
                     "; ".join(words))]  # fmt: skip
    if stated:
        wrong = _contradiction(values, stated, drawn, effort.error)
        rows.append(AuditRow(name, "law", None, None, None, effort.confidence, trials, not wrong,
                             wrong or "the draws fit the stated law"))  # fmt: skip
    return rows


def flattened(report: Any) -> Flat:
    """Return a report as a tuple of plain hashable values; nested sequences and arrays are laid out in order.

    Raises:
        ValueError: for a report that cannot be counted.

    >>> flattened((np.array([0, 1]), "a"))
    (0, 1, 'a')
    """
    if isinstance(report, np.ndarray | np.generic):
        report = report.tolist()
    if isinstance(report, Mapping):
        report = sorted(report.items(), key=repr)
    if isinstance(report, list | tuple):
        return tuple(value for part in report for value in flattened(part))
    if isinstance(report, set):
        return (frozenset(report),)
    if isinstance(report, float) and math.isnan(report):
        return ("nan",)  # NaN differs from itself
    try:
        hash(report)
    except TypeError:
        raise ValueError(f"a report of type {type(report).__name__} cannot be counted: return a tuple") from None
    return (report,)


def _cut_into_bins(samples: Sequence[Sequence[Flat]], half: int) -> list[list[Flat]]:
    """Return the reports with long coordinates as bins; empty reports where they differ in length or are too long."""
    widths = {len(report) for reports in samples for report in reports[:half]}
    width = widths.pop() if len(widths) == 1 else 0
    if not 0 < width <= _MOST_COORDINATES:
        return [[()] * len(reports) for reports in samples]
    columns = []
    for place in range(width):
        values: list[list[Any]] = [
            [report[place] if place < len(report) else None for report in reports] for reports in samples
        ]
        picking = [value for reports in values for value in reports[:half]]
        if len(set(picking)) > _PLAIN and all(isinstance(value, int | float) for value in picking):
            limits = _limits_of_bins(picking)
            shown = _in_digits(limits)
            between = (f"in [{low}, {high})" for low, high in pairwise(shown))
            names = [_Bin(name) for name in (f"below {shown[0]}", *between, f"at least {shown[-1]}")]
            values = [[names[bisect_right(limits, value)] if isinstance(value, int | float) else value
                       for value in reports] for reports in values]  # fmt: skip
        columns.append(values)
    return [list(zip(*(column[side] for column in columns), strict=True)) for side in range(len(samples))]


def _limits_of_bins(numbers: Sequence[float]) -> list[float]:
    """Return the quantiles at which these numbers are cut, each once.

    Numbers with which a quantile cannot be computed, infinite ones and integers beyond float, are cut by rank.
    """
    shares = np.linspace(0, 1, BINS + 1)[1:-1]
    ordered = sorted(numbers)
    if -_LARGEST < ordered[0] and ordered[-1] < _LARGEST:
        return list(np.unique(np.quantile(np.asarray(numbers, float), shares)).tolist())
    return sorted({ordered[round(share * (len(ordered) - 1))] for share in shares})


def _in_digits(limits: Sequence[float]) -> list[str]:
    """Return different numbers in as many digits as tell them apart, 6 or more: bins of one name would be one bin."""
    exact = [limit if isinstance(limit, float) else Decimal(limit) for limit in limits]  # Decimal: also beyond float
    texts = ([f"{limit:.{digits}g}" for limit in exact] for digits in count(6))
    return next(each for each in texts if len(set(each)) == len(limits))


def _seen(reports: Sequence[Flat], cut: Sequence[Flat], places: Sequence[int]) -> Sequence[Flat]:
    """Return these coordinates of each report; without places the whole report, uncut."""
    return [tuple(report[place] for place in places) for report in cut] if places else reports


def _choose(drawn: Sequence[Sequence[Flat]], cut: Sequence[Sequence[Flat]], delta: float, error: float) -> _Event:
    """Return the event with the highest bound in these trials.

    One half of them picks the event of a pair of values and some places, the other half compares these events: an event
    that fits its own trials alone is not taken.
    """
    size, sides = len(drawn[0]) // 2, range(len(drawn))
    halves = (slice(size), slice(size, None))
    every = [(), *((place,) for place in range(len(cut[0][0])))]
    counts = {
        places: [[Counter(_seen(drawn[side][half], cut[side][half], places)) for half in halves] for side in sides]
        for places in every
    }
    scored = {
        (one, other): sorted(((_score(by[one], by[other], size, delta), places) for places, by in counts.items()),
                             reverse=True)
        for one, other in permutations(sides, 2)
    }  # fmt: skip
    # A pair counts by its two best views: two coordinates of a vector may matter together.
    order = sorted(scored, key=lambda pair: sum(score for score, _ in scored[pair][:2]), reverse=True)
    events = []
    for pair in order[:_COMPARED]:
        ranked = [places[0] for _, places in scored[pair] if places][:_TOGETHER]
        for places in ((), *(tuple(ranked[:size]) for size in range(1, len(ranked) + 1))):
            (a, b), (c, d) = ([_seen(drawn[side][half], cut[side][half], places) for half in halves] for side in pair)
            outcomes, _ = pick_event(a, c, delta=delta)
            score = bound_of_event(b, d, outcomes, error=error, delta=delta)[0]
            events.append(_Event(score, *pair, places, outcomes))
    return max(events, key=lambda event: event.score)


def _score(yes: Sequence[Counter[Flat]], no: Sequence[Counter[Flat]], trials: int, delta: float) -> float:
    """Return a rough lower bound on the loss of the best event, for many pairs at once.

    The first counts order the outcomes, the second ones measure them.
    """
    outcomes = list(yes[0])
    first, second, hits, false = (np.array([counter[outcome] for outcome in outcomes], float)
                                  for counter in (yes[0], no[0], yes[1], no[1]))  # fmt: skip
    order = np.argsort(-(first + 0.5) / (second + 0.5), kind="stable")
    p, q = (np.minimum(np.cumsum(counts[order]) / trials, 1) for counts in (hits, false))  # a half may have one more
    low = p - 3 * np.sqrt(p * (1 - p) / trials) - delta
    high = q + 3 * np.sqrt(q * (1 - q) / trials) + 5 / trials
    return float(np.max(np.log(np.maximum(low, 1e-12) / high)))


def _event_in_words(event: _Event, width: int, *, most: int = 4) -> str:
    outcomes = islice(sorted(event.outcomes, key=repr), most)
    values = [", ".join(map(in_words, outcome)) if event.places else in_words(outcome) for outcome in outcomes]  # type: ignore[call-overload]
    about = f"coordinate {', '.join(map(str, event.places))} of the report" if event.places and width > 1 else "report"
    more = f" or {len(event.outcomes) - most} others" if len(event.outcomes) > most else ""
    return f"{about} is {' or '.join(values)}{more}"


def in_words(value: Any) -> str:
    """Return a value in few words; a row of bits as 0110."""
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, tuple) and value and all(isinstance(bit, int | float) and bit in (0, 1) for bit in value):
        return "".join(str(int(bit)) for bit in value)
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _stated(randomiser: Randomiser, value: Any) -> OutputDistribution:
    """Return the stated distribution of a value, with reports laid out as drawn ones are."""
    assert randomiser.law is not None
    subject = f"the law of {in_words(value)}"
    try:
        stated = [(flattened(report), float(chance)) for report, chance in randomiser.law(value).items()]
    except Exception as error:
        raise ValueError(f"{subject} raised {type(error).__name__}: {error}") from error
    chances: dict[Hashable, Fraction] = {}
    for outcome, chance in stated:
        if not 0 <= chance <= 1:
            raise ValueError(f"{subject} gives {in_words(outcome)} the probability {chance:g}")
        if chance:
            chances[outcome] = chances.get(outcome, Fraction(0)) + Fraction(chance)
    total = float(sum(chances.values()))
    if abs(total - 1) > _SUM:
        raise ValueError(f"{subject} sums to {total:.9g}, not to 1")
    return OutputDistribution(chances)


def _contradiction(
    values: Sequence[Any], stated: Sequence[OutputDistribution], drawn: Sequence[Sequence[Flat]], error: float
) -> str:
    """Return where the draws contradict the stated distributions, empty where nowhere."""
    limits = 2 * sum(len(each.chances) for each in stated)
    for value, distribution, reports in zip(values, stated, drawn, strict=True):
        counts: Counter[Hashable] = Counter(reports)
        for unknown in counts.keys() - distribution.chances.keys():
            return f"of {in_words(value)}, {in_words(unknown)} was drawn, and the stated law does not know it"
        for report, chance in distribution.chances.items():
            low, high = clopper_pearson(counts[report], len(reports), error / limits)
            if not low <= float(chance) <= high:
                return (f"of {in_words(value)}, {in_words(report)} has the stated probability {float(chance):.6g}, and "
                        f"was drawn {counts[report]:,} times of {len(reports):,}")  # fmt: skip
    return ""
