"""Parameters of the mechanisms, on both sides of each limit, and the reasons of a refusal.

It covers all modules below ``ldpsim.devices.mechanisms``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

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
    MultiBit,
    NoisyRow,
    OneBit,
    RandomizedResponse,
    SubsetSelection,
    Window,
    discrete_laplace,
)
from ldpsim.devices.mechanisms.bits import (
    pack_integers,
    unpack_integers,
    unpack_many,
)
from ldpsim.devices.mechanisms.class_table import FeatureModel
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.mechanisms.grr_fs import LARGEST, Coding
from tests.devices.mechanisms.examples import FS, HALF, MOST, VOTE, WINDOW

# The last value that is taken and the first one that is refused, of each limit.
BOUNDS: list[tuple[Any, str, Any, Any]] = [
    (RandomizedResponse(HALF - 1, 3), "flip", 1, 0), (RandomizedResponse(1, 3), "flip", HALF - 1, HALF),
    (RandomizedResponse(1, 3), "n", 1, 0), (RandomizedResponse(1, 3), "n", (1 << 32) + 1, (1 << 32) + 2),
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
    (SubsetSelection(1, 1, 3), "categories", 2, 1), (SubsetSelection(1, 1, 3), "categories", MOST, MOST + 1),
    (SubsetSelection(1, 1, 3), "size", 2, 3), (SubsetSelection(1, 2, 3), "size", 1, 0),
    (SubsetSelection(1, 2, 4), "miss", HALF - 1, HALF), (SubsetSelection(2, 2, 4), "miss", 1, 0),
    (ClearLabel(3), "categories", 1, 0), (ClearLabel(3), "categories", MOST, MOST + 1), (ClearAdjacency(3), "n", 1, 0),
    (Degree(1, 1, 3), "n", 1, 0), (Degree(1, 1, 3), "t", (1 << 32) - 1, 1 << 32),
    (Degree(1, 1, 3), "s", (1 << 32) - 1, 1 << 32),
    (Degree(3, 2, 3), "t", 1, 0), (Degree(3, 2, 3), "s", 1, 0), (Degree(3, 1, 3), "s", 2, 3),
    (GroupDegrees(1, 1, 3, 2), "groups", 1, 0), (GroupDegrees(1, 1, 3, 2), "groups", MOST, MOST + 1),
    (GroupDegrees(1, 1, 3, 2), "seed", -1, -2), (GroupDegrees(1, 1, 3, 2), "seed", (1 << 32) - 1, 1 << 32),
    (NoisyRow(1, 1, 3), "grid", 1, 0), (NoisyRow(1, 1, 3), "grid", 1 << 20, (1 << 20) + 1),
    (VOTE, "homophily", 0, -1), (VOTE, "homophily", MOST - 1, MOST), (VOTE, "candidates", 3, 4),
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
    lambda: Coding((2, 3), 3, 1), lambda: Coding((2, 3), 4, 0), lambda: Coding((2, 3), 4, 1).unpack(b"\x10"),
    lambda: Coding((2, 3), 4, 1).unpack(b"\x60"), lambda: unpack_integers(b"\x09" + bytes(9), 1),
    lambda: unpack_integers(b"\x02\x7f\x00", 1), lambda: unpack_many([b"\x01\x11"], np.array([17])),
    lambda: unpack_many([b"\x01\x81", b"\x01\x01"], np.array([99, 99])),
    lambda: NoisyRow(1, 1, 2).decode(pack_integers(np.array([1 << 31])), device=0),
    lambda: NoisyRow(1, 1, 2).decode(pack_integers(np.array([-(1 << 31) - 1])), device=0),
    lambda: ClearFeatures(1, 1.0, 2.0).decode(struct.pack("<I", 2) + b"\0\x80" + struct.pack("<f", 2.5), device=0),
    lambda: ClearFeatures(1, 1.0, 2.0).decode(struct.pack("<I", 2) + b"\0\x80" + struct.pack("<f", 0.5), device=0),
    lambda: FeatureModel(np.full((1, 2), 1 << 31), np.zeros(2, int)).as_text(), lambda: FeatureModel.read("AAA=", 7, 2),
    lambda: discrete_laplace.scale_for(1e-10, sensitivity=1),
]  # fmt: skip


@pytest.mark.parametrize("make", REFUSED)
def test_what_cannot_be_is_refused_in_one_line(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError) as raised:
        make()
    assert str(raised.value) and "\n" not in str(raised.value)
