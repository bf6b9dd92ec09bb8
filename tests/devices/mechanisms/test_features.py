"""Features in a public range and on its grid."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import (
    BUILT_IN,
    AnalyticGaussian,
    FeatureGrid,
    Laplace,
    MultiBit,
    OneBit,
    Window,
)

GRIDS = [
    OneBit.from_epsilon(1.0, d=5, low=-1.0, high=3.0),
    MultiBit.from_epsilon(1.0, d=5, low=-1.0, high=3.0),
    Window.from_epsilon(1.0, d=5, low=-1.0, high=3.0, grid=8),
    Laplace.from_epsilon(1.0, d=5, low=-1.0, high=3.0),
    AnalyticGaussian.from_epsilon(1.0, delta=1e-3, d=5, low=-1.0, high=3.0),
]
each = pytest.mark.parametrize("mechanism", GRIDS, ids=lambda m: m.name)


def test_the_list_is_whole() -> None:
    assert {m.name for m in GRIDS} == {name for name, kind in BUILT_IN.items() if issubclass(kind, FeatureGrid)}


@each
def test_steps_cover_the_range_and_nothing_else(mechanism: FeatureGrid) -> None:
    g = mechanism.grid
    value = np.array([-1.0, 3.0, 1.0, -9.0, np.nan, np.inf, -np.inf, 3.1])
    assert mechanism.steps(value).tolist() == [0, g, g // 2, 0, 0, g, 0, g]
    assert mechanism.steps(np.float32([0.0])).tolist() == [g // 4]
    assert mechanism.low + mechanism.step * mechanism.steps(np.array([3.0]))[0] == 3.0


@each
def test_public_facts_must_agree(mechanism: FeatureGrid) -> None:
    assert mechanism.agrees_with(PublicFacts(9, 5, 2, -1.0, 3.0))
    for d, low, high in ((4, -1.0, 3.0), (5, -2.0, 3.0), (5, -1.0, 2.0)):
        assert not mechanism.agrees_with(PublicFacts(9, d, 2, low, high))
