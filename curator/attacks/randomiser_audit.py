"""Audit of anybody's randomiser: a Python callable, known by its reports alone or also by a stated law.

One half of the trials of every value picks the two values and the event; the other half counts
it. So one bound alone is stated, at the full confidence. It proves a claim wrong where it lies
above it. A bound below the claim proves nothing about the claim.

A stated law, value -> {report: probability}, gives the exact loss of that law over the values.
A second row compares the law with the draws: each probability has to lie within Clopper and
Pearson's limits of its own count, and no report may be drawn that the law does not know.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from time import monotonic
from typing import Any

import numpy as np

from ldpsim.curator.attacks.bounds import bound_of_event, clopper_pearson, pick_event
from ldpsim.curator.attacks.laws import Law, epsilon_at, worst_ratio
from ldpsim.curator.attacks.mechanism_audit import AuditRow, Effort, within
from ldpsim.curator.attacks.report_views import Flat, Views, flattened, value_in_words, views_of

_FIRST = 32  # trials of each value, after which the time of all is known
_TRIED = 8  # largest number of pairs and views that are compared by their exact bounds
_TOGETHER = 4  # largest number of coordinates in one event, beside the whole report
_SUM = 1e-6
Drawing = Callable[[Any], Any]
StatedLaw = Callable[[Any], Mapping[Any, float]]


@dataclass(frozen=True)
class Randomiser:
    """A callable to audit.

    Args:
        name: Name in the row.
        draw: Value -> report; trials must be independent.
        values: Values that are compared, two or more.
        law: Value -> {report: probability}, None where no law is stated.
        note: Words about the values, for the row.
    """

    name: str
    draw: Drawing
    values: Sequence[Any]
    law: StatedLaw | None = None
    note: str = ""


@dataclass(frozen=True)
class _Choice:
    first: int
    second: int
    places: tuple[int, ...]
    event: frozenset[Hashable]
    score: float


def audit_randomiser(
    randomiser: Randomiser,
    effort: Effort,
    *,
    claimed: float,
    delta: float = 0.0,
    seconds: float = math.inf,
    progress: Callable[[float], None] = lambda share: None,
) -> list[AuditRow]:
    """Return the row of the values, and the row of the law where one is stated.

    Args:
        randomiser: What is audited.
        effort: Trials and confidence.
        claimed: Claimed epsilon.
        delta: Delta of the claim.
        seconds: Time for the trials; there are fewer of them where it would not suffice.
        progress: Called with the share that is done.

    Raises:
        ValueError: for a report that cannot be counted, or time for fewer than 32 trials.
    """
    laws = [_law(randomiser, value) for value in randomiser.values] if randomiser.law else []
    effort = Effort(effort.trials, effort.confidence, 2 if laws else 1, effort.seed)
    drawn, cut = _drawn(randomiser, effort.trials, seconds, progress)
    trials = len(drawn[0])
    half = trials // 2
    choice, views = _choose([reports[:half] for reports in drawn], delta, effort.error)
    first, second = (views.joint(drawn[side][half:], choice.places) for side in (choice.first, choice.second))
    bound, hits, false = bound_of_event(first, second, choice.event, error=effort.error, delta=delta)
    one, other = (value_in_words(randomiser.values[side]) for side in (choice.first, choice.second))
    said = [f"{one} against {other}: {views.words(choice.places, choice.event)}, "
            f"{hits:,} and {false:,} times of {trials - half:,}"]  # fmt: skip
    exact = None
    if laws:
        loss = (lambda a, b: epsilon_at(a, b, delta)) if delta else worst_ratio
        exact, a, b = max((loss(laws[a], laws[b]), a, b) for a, b in permutations(range(len(laws)), 2))
        said.append(
            f"stated law: {value_in_words(randomiser.values[a])} against {value_in_words(randomiser.values[b])}"
        )
    said += [f"delta {delta:g}"] if delta else []
    said += [words for words in (cut, randomiser.note) if words]
    passed = within(claimed, exact, bound)
    rows = [AuditRow(randomiser.name, "value", claimed, exact, bound, effort.confidence, trials, passed,
                     "; ".join(said))]  # fmt: skip
    if laws:
        wrong = _law_differs(randomiser.values, laws, drawn, effort.error)
        rows.append(AuditRow(randomiser.name, "law", None, None, None, effort.confidence, trials, not wrong,
                             wrong or "the draws fit the stated law"))  # fmt: skip
    return rows


def _drawn(
    randomiser: Randomiser, trials: int, seconds: float, progress: Callable[[float], None]
) -> tuple[list[list[Flat]], str]:
    """Return reports by value, equally many of each, and words where the time cut the trials."""
    drawn: list[list[Flat]] = [[] for _ in randomiser.values]
    start, made, wanted, cut = monotonic(), 0, trials, ""
    while made < wanted:
        block = min(_FIRST if not made else max(_FIRST, trials // 50), wanted - made)
        for reports, value in zip(drawn, randomiser.values, strict=True):
            reports += [flattened(_report(randomiser, value)) for _ in range(block)]
        if not made:
            fits = seconds / max(monotonic() - start, 1e-9) * block
            if fits < trials:
                wanted = max(block, int(fits))
                cut = f"the time limit of {seconds:g} s cut {trials:,} trials of each value to {wanted:,}"
        made += block
        progress(made / wanted)
    return drawn, cut


def _report(randomiser: Randomiser, value: Any) -> Any:
    try:
        return randomiser.draw(value)
    except Exception as error:
        raise ValueError(
            f"{randomiser.name}({value_in_words(value)}) raised {type(error).__name__}: {error}"
        ) from error


def _choose(drawn: Sequence[Sequence[Flat]], delta: float, error: float) -> tuple[_Choice, Views]:
    """Return the pair, view and event with the highest bound in these trials.

    One half of them picks the event of a pair and view, the other half compares these events: an
    event that fits its own trials alone is not taken.
    """
    half = len(drawn[0]) // 2
    views = views_of([report for reports in drawn for report in reports])
    counts = {places: [tuple(Counter(views.joint(part, places)) for part in (reports[:half], reports[half:]))
                       for reports in drawn]
              for places in [*((place,) for place in range(views.width)), ()]}  # fmt: skip
    scored: dict[tuple[int, int], list[tuple[float, tuple[int, ...]]]] = {}
    for one, other in permutations(range(len(drawn)), 2):
        found = [(_score(by[one], by[other], half, delta), places) for places, by in counts.items()]
        scored[one, other] = sorted(found, reverse=True)
    # A pair counts by its two best views: two coordinates of a vector may matter together.
    order = sorted(scored, key=lambda pair: sum(score for score, _ in scored[pair][:2]), reverse=True)
    best: _Choice | None = None
    for pair in order[:_TRIED]:
        ranked = [places[0] for _, places in scored[pair] if places][:_TOGETHER]
        for places in ((), *(tuple(ranked[:size]) for size in range(1, len(ranked) + 1))):
            (a, b), (c, d) = (
                (seen[:half], seen[half:]) for seen in (views.joint(drawn[side], places) for side in pair)
            )
            event, _ = pick_event(a, c, delta=delta)
            score = bound_of_event(b, d, event, error=error, delta=delta)[0]
            if best is None or score > best.score:
                best = _Choice(*pair, places, event, score)
    assert best is not None
    return best, views


def _score(yes: tuple[Counter[Hashable], ...], no: tuple[Counter[Hashable], ...], trials: int, delta: float) -> float:
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


def _law(randomiser: Randomiser, value: Any) -> Law:
    """Return the stated law of a value, with reports laid out as drawn ones are."""
    assert randomiser.law is not None
    said = f"the law of {value_in_words(value)}"
    try:
        stated: list[tuple[Hashable, float]] = [
            (flattened(report), float(chance)) for report, chance in randomiser.law(value).items()
        ]
    except Exception as error:
        raise ValueError(f"{said} raised {type(error).__name__}: {error}") from error
    chances: dict[Hashable, Fraction] = {}
    for outcome, chance in stated:
        if not 0 <= chance <= 1:
            raise ValueError(f"{said} gives {value_in_words(outcome)} the probability {chance:g}")
        if chance:
            chances[outcome] = chances.get(outcome, Fraction(0)) + Fraction(chance)
    total = float(sum(chances.values()))
    if abs(total - 1) > _SUM:
        raise ValueError(f"{said} sums to {total:.9g}, not to 1")
    return Law(chances)


def _law_differs(values: Sequence[Any], laws: Sequence[Law], drawn: Sequence[Sequence[Flat]], error: float) -> str:
    """Return where the draws contradict the law, empty where nowhere."""
    limits = 2 * sum(len(law.chances) for law in laws)
    for value, law, reports in zip(values, laws, drawn, strict=True):
        counts: Counter[Hashable] = Counter(reports)
        for unknown in counts:
            if unknown not in law.chances:
                outcome = value_in_words(unknown)
                return f"of {value_in_words(value)}, {outcome} was drawn, and the stated law does not know it"
        for report, chance in law.chances.items():
            low, high = clopper_pearson(counts[report], len(reports), error / limits)
            if not low <= float(chance) <= high:
                said = value_in_words(report)
                return (f"of {value_in_words(value)}, {said} has the stated probability {float(chance):.6g}, and was "
                        f"drawn {counts[report]:,} times of {len(reports):,}")  # fmt: skip
    return ""
