"""Rows of an audit, and the number of trials behind them.

Audit of a mechanism: its claimed loss, its exact loss and a lower bound from trials.

A row is about one of these changes:

- ``bit``: one entry of a list, one feature, or the label;
- ``vector``: the whole attribute;
- ``law``: the probabilities that ``log_probability`` states against those of the draws. The
  figure is the largest difference of their logarithms.

``exact`` comes from enumerating the code's draws (:mod:`laws`) at small sizes. If there are
too many of them, it is the largest ratio of the stated probabilities over drawn reports, and
the row says so. ``lower_bound`` comes from trials alone (:mod:`bounds`).

A row fails if either figure exceeds the claim. The exact figure has rounding errors only.
The probability that any lower bound of an audit exceeds a true loss is at most
1 - confidence. This is the audit's rate of false alarms.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from operator import ne
from typing import Any

from ldpsim.curator.attacks.bounds import lower_bound
from ldpsim.curator.attacks.examples import Example, examples
from ldpsim.curator.attacks.laws import Law, NotWalkable, epsilon_at, law_of, worst_ratio
from ldpsim.devices.mechanisms import Mechanism

CONFIDENCE = 1 - 1e-6
TRIALS = 20_000
MOST_TRIALS = 10_000_000
ROUNDING = 2e-9  # claims are rounded up at 1e-9; windows of words are exact to 1e-10
Stream = Callable[[bytes], Any]  # makes the noise of a trial from a key of 32 bytes: the devices' own, NoiseStream


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


def check_effort(trials: int, confidence: float, seed: int) -> None:
    """Refuse a confidence outside (0, 1), fewer than 32 trials or too many, or a seed below 0 (ValueError)."""
    if not 0 < confidence < 1:
        raise ValueError(f"--confidence {confidence:g}: must lie between 0 and 1, both excluded")
    if trials < 32:
        raise ValueError(f"--trials {trials}: at least 32 are needed")
    if trials > MOST_TRIALS:
        raise ValueError(f"--trials {trials}: at most {MOST_TRIALS:,} are possible")
    if seed < 0:
        raise ValueError(f"--seed {seed}: must be 0 or more")


@dataclass(frozen=True)
class Effort:
    """Amount of work of an audit.

    Args:
        trials: Number of trials on each side.
        confidence: Confidence with which all bounds of the audit hold together.
        rows: Number of bounds that share the error.
        seed: Seed of the keys of the noise.

    Raises:
        ValueError: for a confidence outside (0, 1) or fewer than 32 trials.
    """

    trials: int = TRIALS
    confidence: float = CONFIDENCE
    rows: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        check_effort(self.trials, self.confidence, self.seed)

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


_LAW = 1e-7
_DRAWN = 300  # number of drawn reports where the draws cannot be enumerated


def audit_mechanism(
    kind: type[Mechanism], effort: Effort, *, stream: Stream, given: Sequence[Example] | None = None
) -> list[AuditRow]:
    """Audit a mechanism at small sizes.

    Args:
        kind: The mechanism.
        effort: Trials and confidence.
        stream: Maker of the noise of a trial.
        given: Instances to audit instead of the usual ones.
    """
    try:
        sizes = [list(given)] if given is not None else examples(kind)
    except (TypeError, ValueError) as error:
        return [effort.not_audited(kind.name, "vector", str(error))]
    if not sizes:
        if kind.in_clear:
            return [effort.nothing_claimed(kind.name, "vector", "in clear: nothing is claimed")]
        return [effort.not_audited(kind.name, "vector", "no instance can be made: give it audit_examples()")]
    by_level: dict[str, list[AuditRow]] = {}
    for found in sizes:
        walked = False
        for number, example in enumerate(found):
            try:
                rows = _audit_example(example, effort, stream, tried=number == 0)
            except Exception as error:  # whatever the data, a mechanism draws a report
                said = f"{type(error).__name__}: {error}"
                rows = [effort.not_audited(kind.name, "vector", _said(example, said, False))]
            walked |= any(row.level == "law" for row in rows)
            for row in rows:
                by_level.setdefault(row.level, []).append(row)
        if walked:
            break  # smaller sizes add nothing
    return [_worst(rows) for rows in by_level.values()]


def _worst(rows: Sequence[AuditRow]) -> AuditRow:
    """Return the row to show for a level: one that fails, else one with enumerated draws and trials."""
    return min(rows, key=lambda row: (row.passed, row.exact is None, "drawn" in row.detail, row.lower_bound is None))


def _audit_example(example: Example, effort: Effort, stream: Stream, *, tried: bool) -> list[AuditRow]:
    mechanism, people = example.mechanism, example.people()
    claimed = mechanism.loss(device=example.device)
    try:
        laws = {key: law_of(_draw(example, person)) for key, person in people.items()}
        how = "all draws walked through"
    except NotWalkable as error:
        laws, how = {}, f"ratios of drawn reports ({error})"
    rows = []
    exact: float | None
    for level, claim in (("bit", claimed.bit), ("vector", claimed.vector)):
        pairs = [(a, b) for a in people for b in people if a != b and (level == "vector" or _distance(a, b) == 1)]
        if not pairs:
            continue
        if laws:
            exact, pair = _exact(laws, pairs, claimed.delta)
        else:
            exact, pair = _from_stated(example, pairs, people, claimed.delta, stream)
        bound = None
        if tried:
            sides = [_sample(example, people[key], effort, stream, f"{level}{side}")
                     for side, key in enumerate(pair)]  # fmt: skip
            bound = lower_bound(*sides, error=effort.error, delta=claimed.delta)
        passed = within(claim, exact, bound)
        rows.append(AuditRow(mechanism.name, level, claim, exact, bound, effort.confidence,
                             effort.trials if tried else 0, passed, _said(example, how, passed)))  # fmt: skip
    if laws:
        worst = max(_law_error(example, people[key], law) for key, law in laws.items())
        passed = worst <= _LAW
        rows.append(AuditRow(mechanism.name, "law", 0.0, worst, None, effort.confidence, 0, passed,
                             _said(example, how, passed)))  # fmt: skip
    return rows


def _said(example: Example, how: str, passed: bool) -> str:
    if passed:
        return how
    facts = example.facts
    size = f"n={facts.n}, d={facts.d}, [{facts.feature_low:g}, {facts.feature_high:g}]"
    return f"{how}; at {size}, {example.mechanism}"


def _distance(one: tuple[Any, ...], other: tuple[Any, ...]) -> int:
    return sum(map(ne, one, other))


def _draw(example: Example, person: Any) -> Callable[[Any], bytes]:
    def draw(noise: Any) -> bytes:
        return example.mechanism.respond([person], [noise], devices=[example.device], grouping=example.grouping)[0]

    return draw


def _exact(laws: dict[Any, Law], pairs: list[tuple[Any, Any]], delta: float) -> tuple[float, tuple[Any, Any]]:
    loss = (lambda a, b: epsilon_at(a, b, delta)) if delta else worst_ratio
    # equal laws (values that are clamped to the same one) are compared once
    known: dict[tuple[int, int], float] = {}
    names: dict[frozenset[Any], int] = {}
    of = {key: names.setdefault(frozenset(law.chances.items()), len(names)) for key, law in laws.items()}
    best, pair = -1.0, pairs[0]
    for a, b in pairs:
        both = (of[a], of[b])
        if both not in known:
            known[both] = loss(laws[a], laws[b])
        if known[both] > best:
            best, pair = known[both], (a, b)
    return best, pair


def _from_stated(
    example: Example, pairs: list[tuple[Any, Any]], people: dict[Any, Any], delta: float, stream: Stream
) -> tuple[float | None, tuple[Any, Any]]:
    """Return the largest ratio of stated probabilities over drawn reports, None with a delta, and its pair."""
    mechanism = example.mechanism
    values = {
        key: mechanism.value_of(person, device=example.device, grouping=example.grouping)
        for key, person in people.items()
    }
    apart = max(_distance(a, b) for a, b in pairs)
    far = [(a, b) for a, b in pairs if _distance(a, b) == apart][:200]
    reports = {key: [mechanism.decode(report, device=example.device)
                     for report in _sample(example, people[key], Effort(32), stream, "stated")[: _DRAWN // 10]]
               for key in {a for a, _ in far}}  # fmt: skip
    best, pair = -1.0, far[0]
    for a, b in far:
        for report in reports[a]:
            ratio = mechanism.log_probability(report, values[a]) - mechanism.log_probability(report, values[b])
            if ratio > best:
                best, pair = ratio, (a, b)
    return (None if delta else best), pair


def _law_error(example: Example, person: Any, law: Law) -> float:
    mechanism = example.mechanism
    value = mechanism.value_of(person, device=example.device, grouping=example.grouping)
    worst = 0.0
    for outcome, chance in law.chances.items():
        if law.lost and chance < 1e-6:
            continue  # the edge of a window, and tails where the stated figure cancels
        stated = mechanism.log_probability(mechanism.decode(outcome, device=example.device), value)  # type: ignore[arg-type]
        worst = max(worst, abs(stated - (math.log(chance.numerator) - math.log(chance.denominator))))
    return worst


def _sample(example: Example, person: Any, effort: Effort, stream: Stream, label: str) -> list[bytes]:
    draw = _draw(example, person)
    name = f"{effort.seed} {example.mechanism.name} {label} ".encode()
    return [  # each trial has a key of its own, as each report of a device has
        draw(stream(hashlib.sha256(name + number.to_bytes(8, "little")).digest())) for number in range(effort.trials)
    ]
