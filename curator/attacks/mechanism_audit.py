"""Audit of a mechanism, and of the devices' noise: claimed loss, exact loss and a lower bound from trials.

A row is about one of these changes:

- ``bit``: one entry of a list, one feature, or the label;
- ``vector``: the whole attribute;
- ``law``: the probabilities that ``log_probability`` states against those of the draws. The
  figure is the largest difference of their logarithms.

``exact`` comes from enumerating the code's draws (:mod:`ldpsim.curator.attacks.distributions`) at small sizes. If
there are too many of them, it is the largest ratio of the stated probabilities over drawn reports, and
the row says so. ``lower_bound`` comes from trials alone (:mod:`ldpsim.curator.attacks.bounds`).

A row fails if either figure exceeds the claim. The exact figure has rounding errors only.
The probability that any lower bound of an audit exceeds a true loss is at most
1 - confidence. This is the audit's rate of false alarms.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import ne
from typing import Any

import numpy as np

from ldpsim.curator.attacks.bounds import lower_bound
from ldpsim.curator.attacks.distributions import (
    MOST_BRANCHES,
    NotWalkable,
    OutputDistribution,
    epsilon_at,
    output_distribution,
    worst_ratio,
)
from ldpsim.curator.attacks.examples import Example, Person, Value, examples
from ldpsim.devices.mechanisms import Mechanism

CONFIDENCE = 1 - 1e-6
TRIALS = 20_000
MOST_TRIALS = 10_000_000
ROUNDING = 2e-9  # claims are rounded up at 1e-9; windows of words are exact to 1e-10
_MOST_ERROR = 1e-7  # of the logarithm of a stated probability
_DRAWN = 200  # number of drawn reports where the draws cannot be enumerated
_PAIRS = 200  # and of the pairs that they are about
Stream = Callable[[list[bytes]], Any]  # makes the noise of trials from keys of 32 bytes: the devices' own, Noise
Pair = tuple[Value, Value]


@dataclass(frozen=True)
class AuditRow:
    """One line of an audit.

    Args:
        name: Mechanism or method.
        level: What changes: a level of guarantee, an attribute's ``bit`` or ``vector``, or a check.
        claimed: Claimed loss, None without a claim.
        exact: Exact loss, None where it is not known.
        lower_bound: Lower bound from trials, None without trials.
        confidence: Confidence with which all lower bounds of the audit hold together.
        trials: Number of trials on each side.
        passed: Whether neither figure exceeds the claim; None where nothing bounds it.
        detail: Way in which the exact figure was found, or the fault.
    """

    name: str
    level: str
    claimed: float | None
    exact: float | None
    lower_bound: float | None
    confidence: float
    trials: int
    passed: bool | None
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; infinity is None with a word in ``detail``."""
        values = asdict(self)
        for key in ("claimed", "exact", "lower_bound"):
            if values[key] is not None and not math.isfinite(values[key]):
                values[key] = None
                values["detail"] = f"{key} is infinite; {self.detail}".rstrip("; ")
        return values


def within(claim: float, exact: float | None, bound: float | None) -> bool:
    """Whether neither figure exceeds the claim; only the exact one has rounding errors."""
    return (exact is None or exact <= claim + ROUNDING) and (bound is None or bound <= claim)


@dataclass(frozen=True)
class Effort:
    """Amount of work of an audit.

    Args:
        trials: Number of trials on each side.
        confidence: Confidence with which all bounds of the audit hold together.
        rows: Number of bounds that share the error.
        seed: Seed of the keys of the noise.

    Raises:
        ValueError: for a confidence outside (0, 1), fewer than 32 trials or too many, or a seed below 0.
    """

    trials: int = TRIALS
    confidence: float = CONFIDENCE
    rows: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise ValueError(f"--confidence {self.confidence:g}: must lie between 0 and 1, both excluded")
        if self.trials < 32:
            raise ValueError(f"--trials {self.trials}: at least 32 are needed")
        if self.trials > MOST_TRIALS:
            raise ValueError(f"--trials {self.trials}: at most {MOST_TRIALS:,} are possible")
        if self.seed < 0:
            raise ValueError(f"--seed {self.seed}: must be 0 or more")

    @property
    def error(self) -> float:
        """Probability of error of one bound."""
        return (1 - self.confidence) / self.rows

    def nothing_claimed(self, name: str, level: str, detail: str) -> AuditRow:
        """Return the row of something that claims nothing, and so passes."""
        return AuditRow(name, level, math.inf, None, None, self.confidence, 0, True, detail)

    def not_audited(self, name: str, level: str, detail: str) -> AuditRow:
        """Return the row of something that could not be audited, and so fails."""
        return AuditRow(name, level, None, None, None, self.confidence, 0, False, detail)


def audit_mechanism(
    kind: type[Mechanism], effort: Effort, *, stream: Stream, instances: Sequence[Example] | None = None
) -> list[AuditRow]:
    """Audit a mechanism at small sizes.

    Args:
        kind: The mechanism.
        effort: Trials and confidence.
        stream: Maker of the noise of a trial.
        instances: Instances to audit instead of the usual ones.
    """
    if kind.in_clear:
        return [effort.nothing_claimed(kind.name, "vector", "in clear: nothing is claimed")]
    try:
        sizes = [list(instances)] if instances is not None else examples(kind)
    except (TypeError, ValueError) as error:
        return [effort.not_audited(kind.name, "vector", str(error))]
    if not sizes:
        return [effort.not_audited(kind.name, "vector", "no instance can be made: give it audit_examples()")]
    rows: list[AuditRow] = []
    for of_size in sizes:
        for number, example in enumerate(of_size):
            try:
                rows += _audit_example(example, effort, stream, tried=number == 0)
            except Exception as error:  # whatever the data, a mechanism draws a report
                text = f"{type(error).__name__}: {error}"
                rows.append(effort.not_audited(kind.name, "vector", _detail(example, text, passed=False)))
        if any(row.level == "law" for row in rows):
            break  # all draws were walked through: smaller sizes add nothing
    return [_shown([row for row in rows if row.level == level]) for level in dict.fromkeys(row.level for row in rows)]


def _shown(rows: Sequence[AuditRow]) -> AuditRow:
    """Return the row to show for a level: one that fails, else one with enumerated draws and trials."""
    return min(rows, key=lambda row: (row.passed, row.exact is None, "drawn" in row.detail, row.lower_bound is None))


def _detail(example: Example, how: str, *, passed: bool) -> str:
    if passed:
        return how
    facts = example.facts
    return f"{how}; at n={facts.n}, d={facts.d}, [{facts.feature_low:g}, {facts.feature_high:g}], {example.mechanism}"


def _audit_example(example: Example, effort: Effort, stream: Stream, *, tried: bool) -> list[AuditRow]:
    mechanism, people = example.mechanism, example.people()
    _check_rows(example, next(iter(people.values())), stream)
    claimed = mechanism.loss(device=example.device)
    try:
        distributions = output_distributions(example, people)
        how = "all draws walked through"
    except NotWalkable as error:
        distributions, how = {}, f"ratios of drawn reports ({error})"
    rows = []
    for level, claim in (("bit", claimed.bit), ("vector", claimed.vector)):
        pairs = [(a, b) for a in people for b in people if a != b and (level == "vector" or _distance(a, b) == 1)]
        if not pairs:
            continue
        exact: float | None
        if distributions:
            exact, pair = largest_loss(distributions, pairs, claimed.delta)
        else:
            exact, pair = largest_ratio(example, people, pairs, stream)
            exact = None if claimed.delta else exact
        bound = None
        if tried:
            sides = [_sample(example, people[key], effort, stream, f"{level}{side}") for side, key in enumerate(pair)]
            bound = lower_bound(*sides, error=effort.error, delta=claimed.delta)
        passed = within(claim, exact, bound)
        rows.append(AuditRow(mechanism.name, level, claim, exact, bound, effort.confidence,
                             effort.trials if tried else 0, passed, _detail(example, how, passed=passed)))  # fmt: skip
    if distributions:
        worst = max(_error_of_stated(example, people[key], drawn) for key, drawn in distributions.items())
        passed = worst <= _MOST_ERROR
        rows.append(AuditRow(mechanism.name, "law", 0.0, worst, None, effort.confidence, 0, passed,
                             _detail(example, how, passed=passed)))  # fmt: skip
    return rows


def _check_rows(example: Example, person: Person, stream: Stream) -> None:
    """Raise ValueError where an array of reports has no row for each person, or one whose length follows their number.

    The draws of one person do not show it, and thousands of trials would fill the memory.
    """
    drawn = [example.draw(person, stream([bytes(32)] * size)) for size in (2, 3)]
    if not all(isinstance(reports, np.ndarray) for reports in drawn):
        return  # rows of a class of its own
    two, three = (reports.shape for reports in drawn)
    if two[:1] != (2,) or three != (3, *two[1:]):
        raise ValueError(
            f"draw returns an array {two} for 2 people and {three} for 3, not a row for each of a fixed length "
            "(noise.bernoulli(threshold, size) makes `size` trials for every person)"
        )


def _distance(one: Value, other: Value) -> int:
    return sum(map(ne, one, other))


def output_distributions(
    example: Example, people: Mapping[Value, Person], *, most: int = MOST_BRANCHES
) -> dict[Value, OutputDistribution]:
    """Return the distribution of each person's report; :class:`NotWalkable` where the draws are too many."""
    return {
        key: output_distribution(lambda noise, person=person: example.respond(person, noise), most=most)  # type: ignore[misc]
        for key, person in people.items()
    }


def largest_loss(
    distributions: Mapping[Value, OutputDistribution], pairs: Sequence[Pair], delta: float = 0.0
) -> tuple[float, Pair]:
    """Return the largest exact loss of these pairs, and its pair."""
    # equal distributions (of values that are clamped to the same one) are compared once
    numbers: dict[frozenset[Any], int] = {}
    of = {key: numbers.setdefault(frozenset(each.chances.items()), len(numbers)) for key, each in distributions.items()}
    first = {(of[a], of[b]): (a, b) for a, b in reversed(pairs)}
    loss = (lambda a, b: epsilon_at(a, b, delta)) if delta else worst_ratio
    losses = {pair: loss(distributions[pair[0]], distributions[pair[1]]) for pair in first.values()}
    pair = max(losses, key=lambda pair: losses[pair])
    return losses[pair], pair


def largest_ratio(
    example: Example, people: Mapping[Value, Person], pairs: Sequence[Pair], stream: Stream
) -> tuple[float, Pair]:
    """Return the largest ratio of stated probabilities over drawn reports, and its pair, of those that differ most."""
    apart = max(_distance(a, b) for a, b in pairs)
    far = [(a, b) for a, b in pairs if _distance(a, b) == apart][:_PAIRS]
    effort = Effort(max(32, _DRAWN // len(far)))
    reports = {key: _sample(example, people[key], effort, stream, f"stated {key}") for key in {a for a, _ in far}}
    values = {key: example.value_of(person) for key, person in people.items()}
    ratios = {
        (a, b): max(example.log_probability(report, values[a]) - example.log_probability(report, values[b])
                    for report in reports[a])
        for a, b in far
    }  # fmt: skip
    pair = max(ratios, key=lambda pair: ratios[pair])
    return ratios[pair], pair


def _error_of_stated(example: Example, person: Person, drawn: OutputDistribution) -> float:
    # Left out: the edge of a window, and tails where the stated figure cancels.
    chances = {report: chance for report, chance in drawn.chances.items() if not (drawn.lost and chance < 1e-6)}
    value = example.value_of(person)
    return max((abs(example.log_probability(report, value) - math.log(chance.numerator) + math.log(chance.denominator))  # type: ignore[arg-type]
                for report, chance in chances.items()), default=0.0)  # fmt: skip


def _sample(example: Example, person: Person, effort: Effort, stream: Stream, label: str) -> list[bytes]:
    name = f"{effort.seed} {example.mechanism.name} {label} ".encode()
    # each trial has a key of its own, as each report of a device has
    keys = [hashlib.sha256(name + number.to_bytes(8, "little")).digest() for number in range(effort.trials)]
    return example.respond(person, stream(keys))


def audit_stream(stream: Stream) -> list[AuditRow]:
    """Audit the noise stream: a trial of threshold t must succeed for exactly t of the 2**64 numbers.

    The stream's raw words are chosen, so that bisection finds the number at which the trial
    fails. ``exact`` is the largest distance from t, divided by 2**64.
    """
    worst = 0
    for threshold in (1, 12345, 1 << 32, (1 << 40) + 1, 4961005494120964907, (1 << 63) - 1, (1 << 64) - 1):
        for limit in (threshold, np.array([threshold], np.uint64)):
            worst = max(worst, abs(_turn(stream, limit) - threshold))
    return [AuditRow("noise", "law", 0.0, worst / 2.0**64, None, 1.0, 0, worst == 0,
                     "thresholds, by bisection of the 64-bit numbers")]  # fmt: skip


def _turn(stream: Stream, threshold: Any) -> int:
    """Return for how many 64-bit numbers a trial succeeds, given that it succeeds for the smaller ones."""

    def succeeds(number: int) -> bool:
        # Block 0 has the first bits of the number, another block its last ones.
        def squeeze(noise: Any, draw: int, block: int, size: int, rows: Any = None) -> bytes:
            return (number if block else number >> 64 - 8 * size).to_bytes(8, "little")[:size]

        noise = type("Chosen", (type(stream([bytes(32)])),), {"squeeze": squeeze})([bytes(32)])
        return bool(noise.bernoulli(threshold, 1)[0, 0])

    low, high = -1, 1 << 64  # succeeds at low, fails at high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if succeeds(middle) else (low, middle)
    return low + 1
