"""Restated programs: their exact losses, and the committed table."""

from __future__ import annotations

import math

import pytest

from benchmarks import RESULTS
from benchmarks.audits import claims
from benchmarks.study import read_rows
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
