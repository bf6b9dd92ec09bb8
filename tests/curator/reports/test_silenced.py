"""Silenced reports are those of a collection in which these devices never answered."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import issparse

from ldpsim.curator.reports.question import Question
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rows import silenced
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRR, Degree, Mechanism, MultiBit, NoisyRow, OneBit, RandomizedResponse
from ldpsim.devices.noise import NoiseStream
from ldpsim.devices.query import Ask, Query

N, D = 7, 12
FACTS = PublicFacts(N, D, 3)
VALUES = {"adjacency": np.array([0, 1]), "features": np.linspace(0, 1, D), "label": 1}
PLANS: dict[str, dict[str, tuple[Mechanism, ...]]] = {
    "bits": {
        "adjacency": (RandomizedResponse.from_epsilon(1.0, n=N), Degree.from_epsilon(1.0, n=N)),
        "features": (OneBit.from_epsilon(1.0, d=D),),
        "label": (GRR.from_epsilon(1.0, categories=3),),
    },
    "numbers": {
        "adjacency": (NoisyRow.from_epsilon(1.0, n=N),),
        "features": (MultiBit.from_epsilon(1.0, d=D, m=2),),
    },
}


def _report(mechanism: Mechanism, attribute: str, device: int) -> bytes:
    value = VALUES[attribute]
    if attribute == "adjacency":
        neighbours = np.array([0, 1])
        value = len(neighbours) if isinstance(mechanism, Degree) else mechanism.row(device, neighbours)  # type: ignore[attr-defined]
    return mechanism.encode(mechanism.perturb(value, NoiseStream(bytes([device]) * 32)))


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("parts", [False, True])
def test_it_is_as_if_they_had_not_answered(plan: str, parts: bool) -> None:
    asked = PLANS[plan]
    answers = {i: {a: tuple(_report(m, a, i) for m in ms) for a, ms in asked.items()} for i in range(N)}
    stages = [{a: Ask(a, ms)} for a, ms in asked.items()] if parts else [{a: Ask(a, ms) for a, ms in asked.items()}]
    questions = [Question(Query("c", (tuple(stage[a] for a in sorted(stage)),)), part=number)
                 for number, stage in enumerate(stages)]  # fmt: skip
    who = np.isin(np.arange(N), (1, 4))
    found = silenced(Reports.from_bytes(FACTS, questions, answers), who)
    wanted = Reports.from_bytes(FACTS, questions, {i: given for i, given in answers.items() if not who[i]})
    assert np.array_equal(found.answered, wanted.answered) and len(found.parts) == len(wanted.parts)
    assert found.arrays.keys() == wanted.arrays.keys()
    for name, left in found.arrays.items():
        right = wanted.arrays[name]
        if issparse(left):
            left, right = left.toarray(), right.toarray()
        assert left.dtype == right.dtype and np.array_equal(left, right), name
