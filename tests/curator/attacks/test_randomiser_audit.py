"""Audit of a callable: false alarms, power, exact losses of a stated distribution, time."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.attacks.distributions import output_distribution, worst_ratio
from ldpsim.curator.attacks.examples import examples
from ldpsim.curator.attacks.mechanism_audit import AuditRow, Effort
from ldpsim.curator.attacks.randomiser_audit import Randomiser, audit_randomiser, flattened
from ldpsim.devices.mechanisms import GRR

K = 4


def grr(value: int, rng: random.Random, epsilon: float = 1.0) -> int:
    if rng.random() < math.exp(epsilon) / (math.exp(epsilon) + K - 1):
        return value
    return (value + 1 + rng.randrange(K - 1)) % K


def law(value: int, epsilon: float = 1.0) -> dict[int, float]:
    q = 1 / (math.exp(epsilon) + K - 1)
    return {other: math.exp(epsilon) * q if other == value else q for other in range(K)}


def audited(draw: Any, *, trials: int = 4000, values: Any = range(K), error: float = 1e-6, stated: Any = None,
            **claim: Any) -> list[AuditRow]:  # fmt: skip
    randomiser = Randomiser("f", draw, list(values), stated)
    return audit_randomiser(randomiser, Effort(trials, 1 - error), **{"claimed": 1.0, **claim})


def test_a_right_one_passes_and_its_law_is_exact() -> None:
    """False alarm: 1e-6 for the bound and the stated distribution together."""
    rows = audited(partial(grr, rng=random.Random(1)), stated=law)
    assert [row.passed for row in rows] == [True, True] and [row.level for row in rows] == ["value", "law"]
    assert rows[0].exact == pytest.approx(1.0, abs=1e-12) and 0.6 < (rows[0].lower_bound or 0) < 1


def test_false_alarms_are_as_rare_as_stated() -> None:
    """At an error of 5 %, 40 audits of a right one: 2 expected at most above the claim; 13 has a chance below 1e-6."""
    above = sum(not audited(partial(grr, rng=random.Random(seed)), trials=200, error=0.05)[0].passed
                for seed in range(40))  # fmt: skip
    assert above < 13


def test_the_event_is_counted_in_trials_that_did_not_pick_it() -> None:
    """Reports of a thousand values, equally likely of every input: an event that fits its own trials leaks nothing."""
    rng = random.Random(2)
    row = audited(lambda value: rng.randrange(1000), claimed=0.0, trials=2000)[0]
    assert row.passed and row.lower_bound == 0


def leaky(value: int, rng: random.Random) -> int:
    return -1 - value if rng.random() < 0.02 else grr(value, rng)


def test_a_leak_of_small_probability_is_found_unless_delta_allows_it() -> None:
    rng = random.Random(4)
    pure, small, enough = (audited(partial(leaky, rng=rng), trials=20_000, values=range(2), claimed=1.1, delta=delta)[0]
                           for delta in (0.0, 1e-3, 0.03))  # fmt: skip
    assert not pure.passed and not small.passed and enough.passed
    assert "-" in pure.detail and "delta 0.001" in small.detail


def test_two_bits_of_a_long_vector_matter_together() -> None:
    """The loss of optimised unary encoding is in two of 24 bits; the whole report never comes twice."""
    rng = np.random.default_rng(5)

    def oue(value: int) -> Any:
        bits = rng.random(24) < 1 / (1 + math.exp(3.0))
        bits[value] = rng.random() < 0.5
        return bits

    row = audited(oue, claimed=1.0, trials=4000)[0]
    assert not row.passed and 1.5 < (row.lower_bound or 0) < 3 and "coordinate" in row.detail


def test_the_exact_figure_equals_enumeration_of_a_mechanism() -> None:
    """The stated probabilities of the tool's own GRR, and the distribution of its code's draws."""
    example = next(iter(examples(GRR)))[0]
    people = example.people()

    def drawn_for(person: Any) -> Any:
        return output_distribution(lambda noise: example.respond(person, noise))

    drawn = {key: drawn_for(person) for key, person in people.items()}
    expected = max(worst_ratio(drawn[a], drawn[b]) for a in drawn for b in drawn if a != b)
    rng = random.Random(7)

    def draw(key: Any) -> bytes:
        chances = drawn[key].chances
        return rng.choices(list(chances), [float(chance) for chance in chances.values()])[0]  # type: ignore[return-value]

    rows = audited(draw, values=list(drawn), claimed=expected,
                   stated=lambda key: {k: float(chance) for k, chance in drawn[key].chances.items()})  # fmt: skip
    assert rows[0].exact == pytest.approx(expected, abs=1e-12) and all(row.passed for row in rows)


def test_a_report_that_the_law_does_not_know() -> None:
    rows = audited(lambda value: "else", stated=law)
    assert not rows[1].passed and "does not know" in rows[1].detail


def test_a_coordinate_of_many_numbers_is_cut_at_its_quantiles() -> None:
    """Continuous noise: no number comes twice."""
    rng = np.random.default_rng(0)

    def noisy(value: int) -> Any:
        return float(rng.laplace(3 * value)), "same"

    row = audited(noisy, values=range(2), trials=8000)[0]
    assert not row.passed and 1.5 < (row.lower_bound or 0) < 3.1
    assert "coordinate 0 of the report is " in row.detail and "in [" in row.detail


def test_bins_of_large_numbers_close_together_stay_apart() -> None:
    """1e9 + noise has the loss of the noise, and bins of which six digits are the same."""

    def bound(base: float) -> float | None:
        rng = np.random.default_rng(0)
        return audited(lambda value: base + float(rng.laplace(3 * value)), values=range(2))[0].lower_bound

    assert bound(1e9) == pytest.approx(bound(0.0), abs=0.05)


INFINITE, HUGE = float("inf"), 10**400


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("reports", [
    lambda rng: (-INFINITE, INFINITE), lambda rng: (-HUGE, HUGE),
    lambda rng: (-rng.randrange(HUGE), HUGE + rng.randrange(HUGE)),
])  # fmt: skip
def test_infinite_and_huge_numbers_are_cut_by_rank(reports: Callable[[random.Random], tuple[float, float]]) -> None:
    """Report b of (a, b) comes in 7 of 8 trials under value 1, in 1 of 8 under value 0: the loss is ln 7 = 1.95.

    The numbers beside it are many, so that the coordinate is cut into bins.
    """
    rng = random.Random(1)

    def draw(value: int) -> float:
        beside = rng.random()
        return beside if rng.random() < 0.2 else reports(rng)[rng.random() < (7 / 8 if value else 1 / 8)]

    row = audited(draw, values=range(2), claimed=1.0, trials=4000)[0]
    assert not row.passed and 1.2 < (row.lower_bound or 0) < math.log(7)


def test_reports_of_every_form_are_plain_tuples() -> None:
    assert flattened(3) == flattened(np.int64(3)) == flattened(np.array(3)) == (3,)
    assert flattened(([1, (0, 1)], "a")) == (1, 0, 1, "a")
    assert flattened(np.array([[1.5, 0.0]])) == (1.5, 0.0) and flattened({"b": 1, "a": 2}) == ("a", 2, "b", 1)
    assert flattened({1, 2}) == (frozenset({1, 2}),) and flattened(np.array([True, False])) == (True, False)
    assert flattened(float("nan")) == ("nan",)
    with pytest.raises(ValueError, match="cannot be counted"):
        flattened(bytearray(b"a"))
