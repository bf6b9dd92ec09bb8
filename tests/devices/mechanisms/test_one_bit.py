"""The 1-bit mechanism by exhaustive enumeration, and the formula that HoGS prints."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.devices.data.population import Record
from ldpsim.devices.mechanisms import OneBit
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.noise import NoiseStream


def test_ends_of_the_grid_are_exact_and_thresholds_rise() -> None:
    for grid in (1, 3, 1 << 16, 1 << 20):
        mechanism = OneBit(OneBit.from_epsilon(2.0, d=1).flip, 1, 0.0, 1.0, grid)
        steps = mechanism.thresholds(np.linspace(0, 1, 201))
        assert int(steps[0]) == mechanism.flip and int(steps[-1]) == ONE - mechanism.flip
        assert np.all(np.diff(steps.astype(object)) >= 0)


@pytest.mark.parametrize("together", [1, 9])
def test_a_report_of_sparse_features_is_that_of_dense_ones(together: int) -> None:
    """Columns that do not exist count as the nearest one and never raise."""
    rng = np.random.default_rng(1)
    for low, high in [(-1.0, 1.0), (0.0, 1.0), (0.5, 2.0), (-2.0, -1.0)]:  # zero inside, at an end, outside
        mechanism = OneBit.from_epsilon(0.5, d=300, low=low, high=high)
        columns = np.sort(rng.choice(300, 40, replace=False)).astype(np.int32)
        for place, dense_place in ((columns, columns), ([-1, 5, 300, 10**6], [0, 5, 299, 299])):
            values = rng.uniform(low, high, len(place)).astype(np.float32)
            dense = np.zeros(300, np.float32)
            dense[dense_place] = values
            record = Record(np.array(place, np.int32), values, np.zeros(0, np.int32), 0)
            streams = [NoiseStream(bytes([k]) * 32) for k in range(together)]
            wanted = [mechanism.encode(mechanism.perturb(dense, NoiseStream(s.key))) for s in streams]
            assert mechanism.respond([record] * together, streams, devices=range(together)) == wanted
