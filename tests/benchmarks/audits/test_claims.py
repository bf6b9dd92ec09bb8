"""Audited programs: exact losses of restatements and of textbook randomisers, calibration, and lines of the table."""

from __future__ import annotations

import math
from typing import Any

import pytest

from benchmarks import RESULTS
from benchmarks.audits import claims, laws
from benchmarks.study import read_rows
from ldpsim.curator.attacks.laws import Law, worst_ratio
from ldpsim.curator.attacks.mechanism_audit import Effort


def test_the_committed_table_is_what_the_restatements_give() -> None:
    found = [claims.written(claim) for claim in claims.every(Effort())]
    assert found == read_rows(RESULTS / "claims.csv")


def test_losses_that_are_known() -> None:
    assert claims.worst(claims.rounded(claims.sign_flip(1.0), (-1.0, 1.0))) == pytest.approx(1)
    assert claims.worst(claims.rounded(claims.sign_flip(1.0), (0.0, 1.0))) == math.inf
    corners = [(0.0,) * 4, (1.0,) * 4, (1.0, 0.0, 0.0, 0.0)]
    assert claims.worst(claims.rounded(claims.multi_bit(4, 2, 1.0), corners)) == pytest.approx(1)
    assert claims.worst(claims.rounded(claims.multi_bit(4, 2, 1.0), corners[::2])) == pytest.approx(0.5)
    assert claims.worst(claims.rounded(claims.sampled_response(6, 2, 1.0), [(0,) * 6, (1,) * 6])) == pytest.approx(2)


def loss(law: laws.Law, one: Any, other: Any) -> float:
    from fractions import Fraction

    assert all(math.isclose(sum(law(value).values()), 1) for value in (one, other))
    return worst_ratio(*(Law({report: Fraction(c) for report, c in law(value).items()}) for value in (one, other)))


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
