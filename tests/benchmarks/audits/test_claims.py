"""Audited programs: exact losses of restatements and of textbook randomisers, calibration, and lines of the table."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product
from typing import Any

import pytest
from scipy.stats import norm

from benchmarks import RESULTS
from benchmarks.audits import claims, laws
from benchmarks.study import read_rows
from ldpsim.curator.attacks.distributions import OutputDistribution, worst_ratio
from ldpsim.curator.attacks.mechanism_audit import Effort
from ldpsim.curator.privacy.shuffle import shuffled_epsilon


def test_the_committed_table_is_what_the_restatements_give() -> None:
    found = [claims.written(claim) for claim in claims.every(Effort())]
    assert found == read_rows(RESULTS / "claims.csv")


def test_the_page_shows_rows_of_the_table() -> None:
    columns = ("program", "version", "part", "claimed", "delta", "changes", "holds", "how")
    rows = {tuple(row[column] for column in columns) for row in read_rows(RESULTS / "claims.csv")}
    lines = (RESULTS / "audits.md").read_text().split("## Randomisers")[0].splitlines()
    shown = [tuple(cell.strip() for cell in line[1:-1].split("|")) for line in lines if line.startswith("| ")]
    assert {row for row in shown if row[0] not in ("program", "---")} <= rows
    assert {row for row in rows if row[0] in (claims.FLOWER[0], claims.FLIP[0], claims.SHUFFLING[0])} <= set(shown)


def test_losses_that_are_known() -> None:
    assert claims.worst(claims.rounded(claims.sign_flip(1.0), (-1.0, 1.0))) == pytest.approx(1)
    assert claims.worst(claims.rounded(claims.sign_flip(1.0), (0.0, 1.0))) == math.inf
    corners = [(0.0,) * 4, (1.0,) * 4, (1.0, 0.0, 0.0, 0.0)]
    assert claims.worst(claims.rounded(claims.multi_bit(4, 2, 1.0), corners)) == pytest.approx(1)
    assert claims.worst(claims.rounded(claims.multi_bit(4, 2, 1.0), corners[::2])) == pytest.approx(0.5)
    assert claims.worst(claims.rounded(claims.sampled_response(6, 2, 1.0), [(0,) * 6, (1,) * 6])) == pytest.approx(2)


def gaussian_delta(epsilon: float, ratio: float) -> float:
    """Return delta(epsilon) of Gaussian noise by Balle and Wang's formula, for values ``ratio`` deviations apart."""
    upper, lower = norm.cdf(ratio / 2 - epsilon / ratio), norm.cdf(-ratio / 2 - epsilon / ratio)
    return float(upper - math.exp(epsilon) * lower)


def test_noise_on_updates_has_the_exact_curve_of_its_deviation() -> None:
    rows = {(c.program, c.claimed, c.changes): c.holds or 0.0 for c in claims.updates()}
    root = math.sqrt(2 * math.log(1.25 / 1e-5))
    for (program, claimed, changes), shift in {
        (claims.FLOWER, 8.0, "an update is left out"): 1.0,
        (claims.FLOWER, 8.0, "an update is another one"): 2.0,
        (claims.FLOWER, 16.0, "an update is left out"): 1.0,
        (claims.FLOWER, 16.0, "an update is another one"): 2.0,
        (claims.FLOWER, 8.0, "all updates of a client are left out"): math.sqrt(10),
        (claims.FLIP, 10.0, "an example that moves the update by 1e-4"): 1.0,
    }.items():
        held = rows.pop((program, claimed, changes))
        assert gaussian_delta(held, shift * claimed / root) == pytest.approx(1e-5, rel=1e-6)
    for changes, shift in (("an update is left out", 1e4), ("an update is another one", 2e4)):
        ratio = shift * 10 / root  # so far apart that the second term of the formula is below 1e-4 of the first
        held = rows.pop((claims.FLIP, 10.0, changes))
        assert held == pytest.approx(ratio**2 / 2 + ratio * norm.isf(1e-5), rel=1e-8)
    assert not rows


Chances = defaultdict[Any, float]  # of reports


def excess(one: Chances, other: Chances, epsilon: float) -> float:
    return sum(max(one[report] - math.exp(epsilon) * other[report], 0.0) for report in one.keys() | other.keys())


def test_deltas_of_shuffled_reports_are_those_of_every_outcome() -> None:
    people, local, epsilon = 4, 1.5, 0.4
    clone, keep = math.exp(-local), 1 / (1 + math.exp(-local))
    others = {(1, 0): clone / 2, (0, 1): clone / 2, (0, 0): 1 - clone}  # like the first value, the second, neither
    laws_of_person = ({(1, 0): keep, (0, 1): 1 - keep}, {(1, 0): 1 - keep, (0, 1): keep})
    first, second = Chances(float), Chances(float)
    for counted, own in zip((first, second), laws_of_person, strict=True):
        for reports in product(own, *[others] * (people - 1)):
            chance = own[reports[0]] * math.prod(others[report] for report in reports[1:])
            counted[sum(a for a, _ in reports), sum(b for _, b in reports)] += chance
    # each is the other one with both values exchanged, so one direction is enough: an accountant that adds up both
    # and takes the larger sum is right where one of the two is right
    assert excess(first, second, epsilon) == pytest.approx(excess(second, first, epsilon), rel=1e-12)
    delta = excess(first, second, epsilon)
    assert shuffled_epsilon(people=people, local=local, delta=delta) == pytest.approx(epsilon, rel=2e-6)

    zero, one = Chances(float), Chances(float)
    for counted, bit in ((zero, 0), (one, 1)):
        for bits in product((0, 1), repeat=people):
            sent = zip(bits, (bit, *[0] * (people - 1)), strict=True)
            counted[sum(bits)] += math.prod(keep if report == value else 1.0 - keep for report, value in sent)
    largest = max(excess(zero, one, epsilon), excess(one, zero, epsilon))
    assert claims.shuffled_bit_deltas(people, local)(epsilon) == pytest.approx(largest, rel=1e-12)


def test_a_printed_upper_bound_on_shuffled_reports_is_above_the_loss_with_many_people_only() -> None:
    many, few = claims.shuffling()
    assert 0.1675385583317841 < (many.holds or 0.0) < many.claimed  # between both bounds of the program's README
    assert (few.holds or 0.0) > 400 * few.claimed


def loss(law: laws.Law, one: Any, other: Any) -> float:
    from fractions import Fraction

    assert all(math.isclose(sum(law(value).values()), 1) for value in (one, other))
    return worst_ratio(
        *(OutputDistribution({report: Fraction(c) for report, c in law(value).items()}) for value in (one, other))
    )


@pytest.mark.parametrize("law", [
    laws.grr(4, 1.0), laws.unary(4, 1.0, optimal=False), laws.unary(4, 1.0, optimal=True), laws.subset(6, 1.0),
    laws.mixed([laws.grr(4, 1.0), laws.grr(4, 0.5)]),
])  # fmt: skip
def test_losses_are_those_of_theory(law: laws.Law) -> None:
    assert loss(law, 0, 1) == pytest.approx(1.0, abs=1e-9)


def test_sampling_with_fakes_keeps_epsilon_for_one_attribute_alone() -> None:
    amplified = math.log(2 * (math.e - 1) + 1)
    law = laws.sampled(laws.grr(3, amplified), dict.fromkeys(range(3), 1 / 3), 2)
    assert loss(law, (0, 0), (0, 1)) == pytest.approx(1.0, abs=1e-9)
    assert loss(law, (0, 0), (1, 1)) == pytest.approx(amplified, abs=1e-9)
