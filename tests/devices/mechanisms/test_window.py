"""The window mechanism by enumeration, beside the formulas of the piecewise mechanism and the square wave."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import Window
from ldpsim.devices.mechanisms.exact_loss import ONE, log_ratio
from ldpsim.devices.mechanisms.window import KINDS, drawn_features, half_width, window_share
from ldpsim.devices.noise import NoiseStream

every_kind = pytest.mark.parametrize("kind", KINDS)


def reports(mechanism: Window) -> list[np.ndarray]:
    every = itertools.product(range(mechanism.outputs + 1), repeat=mechanism.d)
    return [np.array(r, np.int32) for r in every if np.count_nonzero(r) == mechanism.m]


def values(mechanism: Window) -> list[np.ndarray]:
    points = (mechanism.low, mechanism.low + mechanism.step, mechanism.high)
    return [np.array(v) for v in itertools.product(points, repeat=mechanism.d)]


@every_kind
@pytest.mark.parametrize(("d", "m", "outputs"), [(1, 1, 8), (3, 1, 8), (2, 2, 6)])
def test_losses_law_estimate_and_variance_by_enumeration(kind: str, d: int, m: int, outputs: int) -> None:
    mechanism = Window.from_epsilon(2.0 * m, d=d, m=m, kind=kind, low=-1.0, high=2.0, outputs=outputs)
    every, people = reports(mechanism), values(mechanism)
    stated = np.array([[mechanism.log_probability(r, v) for r in every] for v in people])
    assert np.exp(stated).sum(axis=1) == pytest.approx(1, abs=1e-12)
    estimates = np.array([mechanism.estimate(r) for r in every])
    for value, row in zip(people, stated, strict=True):
        mean = np.exp(row) @ estimates
        assert mean == pytest.approx(value, abs=1e-9)
        assert np.exp(row) @ (estimates - mean) ** 2 == pytest.approx(mechanism.variance(value), rel=1e-9)
    for k in range(1, d + 1):
        worst = max(
            float(np.max(a - b))
            for (v, a), (w, b) in itertools.permutations(zip(people, stated, strict=True), 2)
            if np.count_nonzero(v != w) == k
        )
        assert mechanism.loss_of(k) == pytest.approx(worst, abs=3e-9)
        assert mechanism.loss_of(k) == pytest.approx(min(k, m) * 2.0, abs=3e-9)
    assert mechanism.loss().vector <= 2.0 * m + 1e-9


@every_kind
def test_two_of_three_features_lose_twice_the_logarithm_of_one_ratio(kind: str) -> None:
    mechanism = Window.from_epsilon(2.0, d=3, m=2, kind=kind, outputs=8)
    ratio = (mechanism.near * (8 - mechanism.window), (ONE - mechanism.near) * mechanism.window)
    assert mechanism.loss().bit == log_ratio(*ratio) == pytest.approx(1.0, abs=2e-9)
    assert mechanism.loss().vector == log_ratio(*ratio, 2) == pytest.approx(2.0, abs=2e-9)


@every_kind
def test_the_code_draws_by_the_stated_law(kind: str, law) -> None:
    mechanism = Window.from_epsilon(2.0, d=3, m=2, kind=kind, outputs=8)
    for value in ([0.0, 1.0, 0.0], [mechanism.step, 1.0, 0.0]):
        found, lost = law(lambda noise, value=value: mechanism.perturb(np.array(value), noise))
        assert lost == 0 and len(found) == 3 * 8 * 8
        for data, chance in found.items():
            stated = mechanism.log_probability(np.frombuffer(data, np.int32), np.array(value))
            assert math.log(chance) == pytest.approx(stated, abs=1e-9)


def test_the_published_widths() -> None:
    for e, large_c in ((0.1, 40), (1.0, 4.08), (3.0, 1.57)):
        share = window_share("pm", e)  # (C - 1) / 2C
        assert 1 / (1 - 2 * share) == pytest.approx(large_c, rel=4e-3)
    for e, b, kappa in ((0.05, 0.967, 0.0246), (0.5, 0.716, 0.213), (1.0, 0.512, 0.368), (3.0, 0.127, 0.683)):
        assert half_width(e) == pytest.approx(b, abs=6e-4)
        mechanism = Window.from_epsilon(e, d=1, kind="sw", low=-1.0, outputs=1024)
        outputs = csr_array(np.arange(1, 1025)[:, None])
        chances = [np.exp([mechanism.log_probability(np.array([j + 1]), np.array([t])) for j in range(1024)])
                   for t in (0.0, 1.0)]  # fmt: skip
        means = [float(chance @ mechanism.centred(outputs).toarray().ravel()) for chance in chances]
        assert means == pytest.approx([0, kappa], abs=1e-3)
    assert half_width(0.9999e-3) == pytest.approx(half_width(1.0001e-3), abs=1e-6)
    assert half_width(1e-6) == pytest.approx(1, abs=1e-5)


def test_the_variances_of_the_continuous_mechanisms_to_four_digits() -> None:
    for e in (0.1, 1.0, 3.0):
        h, mechanism = math.exp(e / 2), Window.from_epsilon(e, d=1, low=-1.0)
        for t in (0.0, 0.5, 1.0):
            printed = t * t / (h - 1) + (h + 3) / (3 * (h - 1) ** 2)
            assert mechanism.variance(np.array([t]))[0] == pytest.approx(printed, rel=2e-3)
    at_one = [float(Window.from_epsilon(1.0, d=1, kind=kind, low=-1.0).variance(np.ones(1))[0]) for kind in KINDS]
    assert [round(found, 3) for found in at_one] == [5.224, 5.517]
    assert Window.from_epsilon(1.0, d=1433).variance(np.zeros(1433))[0] == pytest.approx(1871, rel=1e-3)
    ten = Window.from_epsilon(10.0, d=1433, m=drawn_features(10.0, 1433))
    assert ten.m == 4 and ten.variance(np.zeros(1433))[0] == pytest.approx(67, rel=5e-3)


def test_the_rule_of_m() -> None:
    assert [drawn_features(epsilon, 9) for epsilon in (0.1, 2.49, 2.5, 4.99, 5.0, 100.0)] == [1, 1, 1, 1, 2, 9]


def test_a_report_has_a_number_for_each_drawn_feature() -> None:
    mechanism = Window.from_epsilon(3.0, d=1433, m=3)
    report = mechanism.perturb(np.zeros(1433), NoiseStream(bytes(32)))
    data = mechanism.encode(report)
    assert np.count_nonzero(report) == 3 and len(data) == math.ceil(3 * (11 + 12) / 8)
    assert mechanism.decode(data, device=1).tolist() == report.tolist()


def test_only_what_encode_writes_is_read() -> None:
    mechanism = Window.from_epsilon(3.0, d=5, m=2, outputs=10)  # 3 bits and 4 bits
    assert mechanism.encode(np.array([0, 1, 0, 0, 10])) == bytes([0b001_0000_1, 0b00_1001_00])
    for bits in ("00100000010000", "00100000000000", "00100001011001", "00110101001001"):  # 1 1, 1 0, a sixth, ten
        with pytest.raises(ValueError, match="not a report of 2 of 5 features"):
            mechanism.decode(int(bits + "00", 2).to_bytes(2, "big"), device=0)
    with pytest.raises(ValueError, match="beyond 14 bits"):
        mechanism.decode(bytes([0b001_0000_1, 0b00_1001_01]), device=0)


def test_sparse_reports_have_the_same_estimates() -> None:
    mechanism = Window.from_epsilon(1.0, d=4, m=2, low=-1.0, high=3.0)
    dense = np.array([[0, 7, 4096, 0], [0, 0, 0, 0], [1, 0, 0, 2000]], np.int32)
    found, constant = mechanism.sparse_estimates(csr_array(dense))
    assert constant == 0 and found.nnz == 4
    assert found.toarray() == pytest.approx(np.array([mechanism.estimate(row) for row in dense]), rel=1e-6)


def test_a_coarse_grid_moves_the_window_by_several_numbers() -> None:
    mechanism = Window.from_epsilon(1.0, d=2, grid=1)
    assert (mechanism.grid, mechanism.window) == (1, 1546)
    assert mechanism.starts(np.array([0.4, 0.6])).tolist() == [0, 2550]
    halves = Window.from_epsilon(1.0, d=2, grid=4)
    assert (halves.outputs - halves.window) % 4 == 0 and abs(halves.window - 1546) <= 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "xx"}, "kind pm or sw"),
        ({"m": 0}, r"draws 1\.\.4"),
        ({"m": 5}, r"draws 1\.\.4"),
        ({"window": 4096}, "one is outside"),
        ({"window": 0}, "one is outside"),
        ({"outputs": 1 << 17}, "there are 2..65536"),
        ({"grid": 2549}, "does not divide"),
        ({"near": ONE}, "below 2"),
        ({"near": ONE * 1546 // 4096}, "above its share"),
        ({"d": 0}, "needs d >= 1"),
    ],
)
def test_impossible_parameters_are_refused(change: dict, message: str) -> None:
    mechanism = Window.from_epsilon(1.0, d=4)
    with pytest.raises(ValueError, match=message):
        replace(mechanism, **change)


def test_budgets_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="epsilon must be a finite number above 0"):
        Window.from_epsilon(math.inf, d=4)
    with pytest.raises(ValueError, match="beyond what a 64-bit threshold can hold"):
        Window.from_epsilon(200.0, d=4)
    with pytest.raises(ValueError, match="kind pm or sw"):
        Window.from_epsilon(1.0, d=4, kind="x")
    with pytest.raises(ValueError, match=r"draws 1\.\.4"):
        Window.from_epsilon(1.0, d=4, m=0)
    assert Window.from_epsilon(20.0, d=4).window == 1  # never empty
    assert Window.from_epsilon(1.0, d=4).agrees_with(PublicFacts(9, 4, 3))
