"""Thresholds and losses in the safe direction; parameters on both sides of each limit, and reasons of a refusal."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import (
    GRR,
    GRRFS,
    AnalyticGaussian,
    ClearAdjacency,
    ClearFeatures,
    ClearLabel,
    Degree,
    GroupDegrees,
    Laplace,
    Loss,
    MultiBit,
    NoisyRow,
    OneBit,
    RandomizedResponse,
    Window,
    discrete_laplace,
)
from ldpsim.devices.mechanisms.category_columns import LARGEST, Coding
from ldpsim.devices.mechanisms.codecs import pack_integers, unpack_integers, unpack_many
from ldpsim.devices.mechanisms.exact_loss import ONE, log_ratio, probability_threshold, round_up
from ldpsim.devices.mechanisms.feature_model import FeatureModel
from ldpsim.devices.mechanisms.mechanism import one_report
from tests.devices.mechanisms.examples import FS, HALF, MOST, VOTE, WINDOW

# The last value that is taken and the first one that is refused, of each limit.
BOUNDS: list[tuple[Any, str, Any, Any]] = [
    (RandomizedResponse(HALF - 1, 3), "flip", 1, 0), (RandomizedResponse(1, 3), "flip", HALF - 1, HALF),
    (RandomizedResponse(1, 3), "n", 1, 0), (RandomizedResponse(1, 3), "n", (1 << 32) - 1, 1 << 32),
    (OneBit(1, 3), "flip", HALF - 1, HALF), (OneBit(2, 3), "flip", 1, 0), (OneBit(1, 3), "d", 1, 0),
    (OneBit(1, 3), "grid", 1, 0), (OneBit(1, 3), "grid", 1 << 20, (1 << 20) + 1), (OneBit(1, 3), "high", 1e-9, 0.0),
    (MultiBit(1, 3, 2), "m", 1, 0), (MultiBit(1, 3, 2), "m", 3, 4),
    (WINDOW, "m", 4, 5), (replace(WINDOW, grid=1), "window", 1, 0), (WINDOW, "near", ONE - 1, ONE),
    (WINDOW, "near", ONE * 1546 // 4096 + 1, ONE * 1546 // 4096),
    (Window("pm", ONE - 1, 1, 2, 1, 1), "outputs", 2, 1),
    (Window("pm", ONE - 1, 1, 2, 1, 1), "outputs", MOST, MOST + 1),
    (Window("pm", ONE - 1, 1, 2, 1, 1), "window", 4095, 4096),
    (GRR(1, 3), "categories", 2, 1), (GRR(1, 3), "categories", MOST, MOST + 1), (GRR(1, 3), "lie", ONE * 2 // 3, ONE),
    (GRR(1, 4), "lie", ONE // 4 * 3 - 1, ONE // 4 * 3), (GRR(5, 3), "lie", 1, 0),
    (ClearLabel(3), "categories", 1, 0), (ClearLabel(3), "categories", MOST, MOST + 1), (ClearAdjacency(3), "n", 1, 0),
    (Degree(1, 1, 3), "n", 1, 0), (Degree(1, 1, 3), "t", (1 << 32) - 1, 1 << 32),
    (Degree(1, 1, 3), "s", (1 << 32) - 1, 1 << 32),
    (Degree(3, 2, 3), "t", 1, 0), (Degree(3, 2, 3), "s", 1, 0), (Degree(3, 1, 3), "s", 2, 3),
    (GroupDegrees(1, 1, 3, 2), "groups", 1, 0), (GroupDegrees(1, 1, 3, 2), "groups", MOST, MOST + 1),
    (GroupDegrees(1, 1, 3, 2), "seed", -1, -2), (GroupDegrees(1, 1, 3, 2), "seed", (1 << 32) - 1, 1 << 32),
    (NoisyRow(1, 1, 3), "grid", 1, 0), (NoisyRow(1, 1, 3), "grid", 1 << 20, (1 << 20) + 1),
    (VOTE, "saturation", 1, 0), (VOTE, "saturation", 1 << 20, (1 << 20) + 1), (VOTE, "candidates", 3, 4),
    (replace(VOTE, unseen=True), "candidates", 1, 0),
    (FS, "m", 1, 0), (FS, "m", 3, 4), (FS, "lies", (HALF - 1, HALF), (HALF, HALF)), (FS, "lies", (1, 1), (1, 0)),
    (FS, "lies", (1, ONE * 2 // 3), (1, ONE * 2 // 3 + 1)),
    (AnalyticGaussian(1 << 36, 1e-5, 3), "delta", 1 - 1e-9, 1.0),
    (AnalyticGaussian(1 << 36, 1e-5, 3), "delta", 2e-300, 1e-300),
    (Laplace(1, 1, 3), "grid", 1 << 20, (1 << 20) + 1), (Laplace(1, 1, 3), "d", 1, 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("mechanism", "name", "taken", "refused"), BOUNDS, ids=lambda value: getattr(value, "name", None)
)
def test_the_limits_of_the_parameters(mechanism: Any, name: str, taken: object, refused: object) -> None:
    assert getattr(replace(mechanism, **{name: taken}), name) == taken
    with pytest.raises(ValueError):
        replace(mechanism, **{name: refused})


REFUSED: list[Callable[[], object]] = [
    lambda: RandomizedResponse(1, 1 << 33), lambda: Laplace(2, 4, 1), lambda: AnalyticGaussian(1 << 29, 0.1, 3),
    lambda: MultiBit.from_epsilon(1.0, d=3, m=0), lambda: MultiBit.from_epsilon(1.0, d=3, m=4),
    lambda: GRRFS.from_epsilon(1.0, facts=PublicFacts(9, 7, 2), block=0),
    lambda: Coding((2,), LARGEST + 1, LARGEST + 1), lambda: Coding((2, 2), 5, 2), lambda: Coding((2, 3), 4, 2),
    lambda: Coding((2, 3), 3, 1), lambda: Coding((2, 3), 4, 0), lambda: Coding((2, 3), 4, 1).unpack([b"\x10"]),
    lambda: Coding((2, 3), 4, 1).unpack([b"\x60"]), lambda: unpack_integers(b"\x09" + bytes(9), 1),
    lambda: unpack_integers(b"\x02\x7f\x00", 1), lambda: unpack_many([b"\x01\x11"], np.array([17])),
    lambda: unpack_many([b"\x01\x81", b"\x01\x01"], np.array([99, 99])),
    lambda: one_report(NoisyRow(1, 1, 2), pack_integers(np.array([1 << 31])), 0),
    lambda: one_report(NoisyRow(1, 1, 2), pack_integers(np.array([-(1 << 31) - 1])), 0),
    lambda: one_report(ClearFeatures(1, 1.0, 2.0), struct.pack("<I", 2) + b"\0\x80" + struct.pack("<f", 2.5), 0),
    lambda: one_report(ClearFeatures(1, 1.0, 2.0), struct.pack("<I", 2) + b"\0\x80" + struct.pack("<f", 0.5), 0),
    lambda: FeatureModel(np.full((1, 2), 1 << 31), np.zeros(2, int)).as_text(), lambda: FeatureModel.read("AAA=", 7, 2),
    lambda: discrete_laplace.scale_for(1e-10, sensitivity=1),
]  # fmt: skip


@pytest.mark.parametrize("make", REFUSED)
def test_what_cannot_be_is_refused_in_one_line(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError) as raised:
        make()
    assert str(raised.value) and "\n" not in str(raised.value)


def exact_log(numerator: int, denominator: int) -> Decimal:
    with localcontext() as context:
        context.prec = 80
        return (Decimal(numerator) / Decimal(denominator)).ln()


@given(st.floats(1e-6, 44), st.integers(1, 50))
def test_a_threshold_never_loses_more_than_epsilon(epsilon: float, odds: int) -> None:
    threshold = probability_threshold(epsilon, odds)
    assert 0 < threshold < ONE
    loss = exact_log((ONE - threshold) * odds, threshold)
    assert loss <= Decimal(repr(epsilon))
    # One step further down would lose more than epsilon: the threshold is the smallest allowed.
    assert threshold == 1 or exact_log((ONE - threshold + 1) * odds, threshold - 1) > Decimal(repr(epsilon))
    printed = log_ratio((ONE - threshold) * odds, threshold)
    assert 0 <= Decimal(repr(printed)) - loss < Decimal("1e-9")


def test_what_64_bits_cannot_hold_is_refused() -> None:
    assert probability_threshold(44.3) >= 1
    for large in (44.4, 1e9, 1e308):
        with pytest.raises(ValueError, match="beyond what a 64-bit threshold can hold"):
            probability_threshold(large)
    with pytest.raises(ValueError, match="too small"):
        probability_threshold(1e-20)


def test_losses_add_and_stay_readable() -> None:
    total = Loss(0.1, 1.1, 1e-6) + Loss(0.2, 2.2, 1e-6)
    assert (total.bit, total.vector, total.delta) == (0.3, 3.3, 2e-6)
    assert (Loss(1.0, math.inf) + Loss(1.0, 2.0)).vector == math.inf
    assert round_up(1.0000000001) == 1.000000001
    assert round_up(0.1 + 0.2) == 0.3
    assert round_up(Decimal("2.0000000000000000001")) == 2.000000001
