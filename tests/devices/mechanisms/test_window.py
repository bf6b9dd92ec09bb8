"""The window mechanism by enumeration, beside the formulas of the piecewise mechanism and the square wave."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.devices.mechanisms import Window
from ldpsim.devices.mechanisms.window import KINDS, half_width, window_share

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


def test_only_what_encode_writes_is_read() -> None:
    mechanism = Window.from_epsilon(3.0, d=5, m=2, outputs=10)  # 3 bits and 4 bits
    assert mechanism.encode(np.array([0, 1, 0, 0, 10])) == bytes([0b001_0000_1, 0b00_1001_00])
    for bits in ("00100000010000", "00100000000000", "00100001011001", "00110101001001"):  # 1 1, 1 0, a sixth, ten
        with pytest.raises(ValueError, match="not a report of 2 of 5 features"):
            mechanism.decode(int(bits + "00", 2).to_bytes(2, "big"), device=0)
    with pytest.raises(ValueError, match="beyond 14 bits"):
        mechanism.decode(bytes([0b001_0000_1, 0b00_1001_01]), device=0)
