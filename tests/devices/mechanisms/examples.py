"""Small mechanisms and people, of whom tests know every figure."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ldpsim.devices import mechanisms
from ldpsim.devices.data.records import Record
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import (
    GRRFS,
    AnalyticGaussian,
    ClearAdjacency,
    ClearFeatures,
    ClearLabel,
    Degree,
    GroupDegrees,
    Laplace,
    Mechanism,
    MultiBit,
    NeighbourhoodVote,
    NoisyRow,
    OneBit,
    RandomizedResponse,
    SumShare,
    Window,
)  # fmt: skip
from ldpsim.devices.mechanisms.exact_loss import ONE

HALF, MOST = ONE // 2, 1 << 16
Q = np.array([[3, 1, 0], [0, 0, 0], [1, 6, 1], [0, 1, 4], [2, 2, 3]])
VOTE = NeighbourhoodVote.from_probabilities(Q, 1.0, homophily=0.7)
WINDOW = Window.from_epsilon(1.0, d=4)
FS = GRRFS((HALF // 2, HALF // 2), (2, 3, 3), 2, 7)

N, D, C = 9, 11, 3
FACTS = PublicFacts(N, D, C)
_MADE: list[Mechanism] = [
    RandomizedResponse.from_epsilon(1.0, n=N), Degree.from_epsilon(0.3, n=N),
    GroupDegrees.from_epsilon(1.0, n=N, groups=3, seed=5), NoisyRow.from_epsilon(1.0, n=N),
    NeighbourhoodVote.from_probabilities(np.eye(C)[np.arange(N) % C], 1.0, homophily=0.8),
    ClearAdjacency(N),
    OneBit.from_epsilon(1.0, d=D), MultiBit.from_epsilon(4.0, d=D),
    Window.from_epsilon(2.0, d=D, m=2), GRRFS.from_epsilon(1.0, facts=FACTS, m=3, block=2),
    Laplace.from_epsilon(1.0, d=D), AnalyticGaussian.from_epsilon(1.0, delta=1e-3, d=D), ClearFeatures(D),
    ClearLabel(C),
    SumShare.from_epsilon(1.0, delta=1e-3, honest=5, d=D, low=0.0, high=1.0, words=True, radius=1.0, shares=np.ones(C)),
]  # fmt: skip
_EXAMPLE_OF = {made.name: made for made in _MADE}
# A mechanism about labels needs no entry: it is made from an epsilon and the number of classes, as `run` makes it.
EXAMPLES: list[Mechanism] = [
    _EXAMPLE_OF[name] if name in _EXAMPLE_OF else cast(Any, kind).from_epsilon(1.0, categories=C)
    for name, kind in mechanisms.BUILT_IN.items() if name in _EXAMPLE_OF or kind.reads == ("label",)
]  # fmt: skip


def person(features: dict[int, float] | None = None, near: tuple[int, ...] = (), label: int = 0) -> Record:
    features = features or {}
    columns, values = np.array(list(features), np.int32), np.array(list(features.values()), np.float32)
    return Record(columns, values, np.array(near, np.int32), label)
