"""Small mechanisms and people, of whom tests know every figure."""

from __future__ import annotations

import numpy as np

from ldpsim.devices.data.population import Record
from ldpsim.devices.mechanisms import (
    GRRFS,
    NeighbourhoodVote,
    Window,
)
from ldpsim.devices.mechanisms.exact_loss import ONE

HALF, MOST = ONE // 2, 1 << 16
Q = np.array([[3, 1, 0], [0, 0, 0], [1, 6, 1], [0, 1, 4], [2, 2, 3]])
VOTE = NeighbourhoodVote.from_probabilities(Q, 1.0, homophily=0.7)
WINDOW = Window.from_epsilon(1.0, d=4)
FS = GRRFS((HALF // 2, HALF // 2), (2, 3, 3), 2, 7)


def person(features: dict[int, float] | None = None, near: tuple[int, ...] = (), label: int = 0) -> Record:
    features = features or {}
    columns, values = np.array(list(features), np.int32), np.array(list(features.values()), np.float32)
    return Record(columns, values, np.array(near, np.int32), label)
