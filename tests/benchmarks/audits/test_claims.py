"""Audited programs: exact losses of restatements and of textbook randomisers, calibration, and lines of the table."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import RESULTS
from benchmarks.audits import accountants, cases, claims, laws, run
from benchmarks.study import read_rows
from ldpsim.curator.attacks.laws import Law, worst_ratio
from ldpsim.curator.attacks.mechanism_audit import Effort
from ldpsim.devices.mechanisms import gaussian


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


def test_one_of_two_that_is_drawn_is_a_gaussian_where_nobody_else_is_there() -> None:
    sigma = 1.5
    half, whole = claims.sampled_deltas(1, sigma), gaussian.delta_of(0.5, shift=1.0, sigma=sigma)
    assert half(0.5) < whole  # the shift is 1 in half of the draws alone
    assert claims.sampled_deltas(40, sigma)(0.5) > 0.99
    epsilon = claims.least_epsilon(lambda x: gaussian.delta_of(x, shift=1.0, sigma=sigma), 1e-5)
    assert epsilon == pytest.approx(gaussian.epsilon_of(1e-5, shift=1.0, sigma=sigma), abs=1e-8)


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


class Release:
    """A Gaussian release with the functions that the search asks for."""

    def __init__(self, sigma: float, known: bool) -> None:
        self.sigma, self.known = sigma, known

    def RenyiDP(self, order: float) -> float:  # noqa: N802
        return order / (2 * self.sigma**2) if self.known else math.inf

    def get_approxDP(self, delta: float) -> float:  # noqa: N802
        return gaussian.epsilon_of(delta, shift=math.sqrt(accountants.HOPS), sigma=self.sigma)


def test_the_search_finds_the_exact_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accountants, "described", lambda sigma, program: Release(sigma, True))
    wanted = gaussian.calibrate(4.0, accountants.DELTA, shift=math.sqrt(accountants.HOPS))
    assert accountants.calibrated(4.0, "GAP") == pytest.approx(wanted, abs=1e-3)


def test_a_library_that_stops_has_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    modules: dict[str, Any] = {
        "autodp.mechanism_zoo": SimpleNamespace(ExactGaussianMechanism=lambda sigma: None),
        "autodp.autodp_core": SimpleNamespace(Mechanism=SimpleNamespace), "autodp.transformer_zoo": SimpleNamespace(),
    }  # fmt: skip
    monkeypatch.setattr(accountants, "import_module", modules.__getitem__)
    found = list(accountants.rows("0.2"))
    assert len(found) == 6 and all(row["error"].startswith("AttributeError") and not row["sigma"] for row in found)


def test_a_case_becomes_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "version", lambda library: "1.2.3")
    case = cases.Case("lib", "clear", 1.0, lambda value: value if random.random() < 0.999 else 0)
    line = run.written(case, run.audited(case, Effort(trials=400)))
    assert line["passed"] == "False" and line["version"] == "1.2.3" and float(line["lower_bound"]) > 1
    assert line["law"] == line["exact"] == ""
