"""A mechanism's claimed loss beside its exact loss and what trials can show.

Each row is one level of one mechanism:

- ``bit``: one entry of a list, one feature, the label; ``vector``: the whole attribute;
- ``law``: whether the probabilities that it states (``log_probability``) are those of what
  it draws; the figures are the largest difference of their logarithms.

``exact`` comes from walking through the code's draws (:mod:`laws`) at small sizes; where
that cannot be done it is the largest ratio of the stated probabilities over drawn reports,
and the row says so. ``lower_bound`` comes from trials alone (:mod:`bounds`).

A row fails where either of them is above the claim. The exact figure errs by rounding
only; all lower bounds of an audit together are above a true loss with probability at most
1 - confidence, which is the audit's rate of false alarms.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np

from curator.attacks.bounds import lower_bound
from curator.attacks.examples import Example, examples
from curator.attacks.laws import Law, NotWalkable, epsilon_at, law_of, worst_ratio
from devices import mechanisms
from devices.mechanisms import Mechanism

CONFIDENCE = 1 - 1e-6
TRIALS = 20_000
_ROUNDING = 2e-9  # claims are rounded up at 1e-9; windows of words are exact to 1e-10
_LAW = 1e-7
_DRAWN = 300  # reports looked at where the draws cannot be walked through
Stream = Callable[[bytes], Any]


@dataclass(frozen=True)
class AuditRow:
    """One line of an audit.

    Args:
        name: The mechanism, method or device.
        level: What changes.
        claimed: What is claimed; None where nothing is.
        exact: The exact figure, None where there is none.
        lower_bound: What trials show, None where there were none.
        confidence: With which all lower bounds of the audit hold together.
        trials: Trials a side.
        passed: Whether neither figure is above the claim.
        detail: How the exact figure was found, or what is wrong.
    """

    name: str
    level: str
    claimed: float | None
    exact: float | None
    lower_bound: float | None
    confidence: float
    trials: int
    passed: bool
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; infinity is None with a word in ``detail``."""
        values = asdict(self)
        for key in ("claimed", "exact", "lower_bound"):
            if values[key] is not None and not math.isfinite(values[key]):
                values[key] = None
                values["detail"] = f"{key} is infinite; {self.detail}".rstrip("; ")
        return values


@dataclass(frozen=True)
class Effort:
    """How much is tried.

    Args:
        trials: A side.
        confidence: With which all bounds of the audit hold together.
        rows: Among how many bounds the error is divided.
        seed: Of the keys of the noise.
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

    @property
    def error(self) -> float:
        """Chance of error of one bound."""
        return (1 - self.confidence) / self.rows


def table() -> dict[str, type[Mechanism]]:
    """Return every mechanism there is, built in or found through entry points, by name."""
    from importlib.metadata import entry_points

    names = [entry.name for entry in entry_points(group="ldpsim.mechanisms")]
    found = dict(mechanisms.BUILT_IN)
    for name in names:
        kind = mechanisms.find(name)
        if kind is not None:
            found[name] = kind
    return found


def audit_mechanism(
    kind: type[Mechanism], effort: Effort, *, stream: Stream, given: Sequence[Example] | None = None
) -> list[AuditRow]:
    """Audit a mechanism at small sizes.

    Args:
        kind: The mechanism.
        effort: Trials and confidence.
        stream: Makes the noise of a trial from a key of 32 bytes: the devices' own, ``NoiseStream``.
        given: Instances to look at instead of the usual ones.
    """
    try:
        sizes = [list(given)] if given is not None else examples(kind)
    except (TypeError, ValueError) as error:
        return [AuditRow(kind.name, "vector", None, None, None, effort.confidence, 0, False, str(error))]
    if not sizes:
        clear = all(math.isinf(loss) for loss in _clear_losses(kind))
        detail = "in clear: nothing is claimed" if clear else "no instance can be made: give it audit_examples()"
        return [AuditRow(kind.name, "vector", math.inf, None, None, effort.confidence, 0, clear, detail)]
    by_level: dict[str, list[AuditRow]] = {}
    for found in sizes:
        walked = False
        for number, example in enumerate(found):
            try:
                rows = _audit_example(example, effort, stream, tried=number == 0)
            except Exception as error:  # whatever the data, a mechanism draws a report
                said = f"{type(error).__name__}: {error}"
                rows = [AuditRow(kind.name, "vector", None, None, None, effort.confidence, 0, False,
                                 _said(example, said, False))]  # fmt: skip
            walked |= any(row.level == "law" for row in rows)
            for row in rows:
                by_level.setdefault(row.level, []).append(row)
        if walked:
            break  # smaller ones would add nothing
    return [_worst(rows) for rows in by_level.values()]


def _clear_losses(kind: type[Mechanism]) -> list[float]:
    for arguments in ((4,), (3,)):
        try:
            loss = cast(Any, kind)(*arguments).loss()
        except (TypeError, ValueError, NotImplementedError):
            continue
        return [loss.bit, loss.vector]
    return [0.0]


def _worst(rows: Sequence[AuditRow]) -> AuditRow:
    """The row to show for a level: one that fails, else one that was walked through and tried."""
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
        passed = (exact is None or exact <= claim + _ROUNDING) and (bound is None or bound <= claim)
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
    return sum(a != b for a, b in zip(one, other, strict=True))


def _draw(example: Example, person: Any) -> Callable[[Any], bytes]:
    def draw(noise: Any) -> bytes:
        return example.mechanism.respond(person, noise, device=example.device, grouping=example.grouping)

    return draw


def _exact(laws: dict[Any, Law], pairs: list[tuple[Any, Any]], delta: float) -> tuple[float, tuple[Any, Any]]:
    loss = (lambda a, b: epsilon_at(a, b, delta)) if delta else worst_ratio
    # equal laws (values that are clamped to one another) are looked at once
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
    """Largest ratio of stated probabilities over drawn reports; with a delta there is no such figure."""
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
            continue  # a window's edge, and tails where the stated figure is a difference of near equals
        stated = mechanism.log_probability(mechanism.decode(outcome, device=example.device), value)  # type: ignore[arg-type]
        worst = max(worst, abs(stated - (math.log(chance.numerator) - math.log(chance.denominator))))
    return worst


def _sample(example: Example, person: Any, effort: Effort, stream: Stream, label: str) -> list[bytes]:
    draw = _draw(example, person)
    name = f"{effort.seed} {example.mechanism.name} {label} ".encode()
    return [  # keys that nothing else uses: what a device derives from its secret
        draw(stream(hashlib.sha256(name + number.to_bytes(8, "little")).digest())) for number in range(effort.trials)
    ]


def audit_stream(stream: Stream) -> list[AuditRow]:
    """Audit the noise stream: does a trial of threshold t succeed for t of the 2**64 numbers, exactly?

    The stream's raw words are chosen, so that the place where a trial turns is found by
    bisection; ``exact`` is the largest distance from t, over 2**64.
    """
    worst = 0
    for threshold in (1, 12345, 1 << 32, (1 << 40) + 1, 4961005494120964907, (1 << 63) - 1, (1 << 64) - 1):
        for many in (False, True):
            worst = max(worst, abs(_turn(stream, threshold, many) - threshold))
    return [AuditRow("noise stream", "law", 0.0, worst / 2.0**64, None, 1.0, 0, worst == 0,
                     "thresholds, by bisection of the 64-bit numbers")]  # fmt: skip


def _turn(stream: Stream, threshold: int, many: bool) -> int:
    """The number of 64-bit numbers for which a trial succeeds, if it succeeds for the smaller ones."""

    def succeeds(number: int) -> bool:
        noise = stream(bytes(32))
        halves = iter([number >> 32, number & 0xFFFFFFFF])
        noise._draw = lambda lane, size: np.full(size, next(halves), np.uint32)
        asked: Any = np.array([threshold], np.uint64) if many else threshold
        return bool(noise.bernoulli(asked, 1)[0])

    low, high = -1, 1 << 64  # succeeds at low, fails at high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if succeeds(middle) else (low, middle)
    return low + 1
