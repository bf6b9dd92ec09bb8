"""Twelve devices that the adversaries are let loose on."""

from __future__ import annotations

import itertools
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ldpsim.devices.curator_key import CuratorKey
from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.mechanisms import BUILT_IN, GRR, OneBit, RandomizedResponse
from ldpsim.devices.mechanisms.exact_loss import round_up
from ldpsim.devices.policy.policy import Cap, policy_for
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.attacks.adversaries.curator import AttackResult, Target
from tests.strategies.attacks.adversaries.other_attacks import two_stages

N, D, CLASSES = 12, 10, 3
WIDE = Cap(bit=1e6, vector=1e9, user=1e9, delta=1.0)


def loss_of(outcome: AttackResult, device: int, attribute: str) -> float:
    """Return the vector loss of all answers of one device about one attribute; the losses of answers add up."""
    asked = outcome.questions().get((device, attribute), [])
    return round_up(math.fsum(query.loss(attribute, device=device).vector * number for query, number in asked))


@pytest.fixture(scope="session")
def people() -> Population:
    return generate(N, D, CLASSES, seed=3, words=4.0)


def honest(adversary: str, collection: str = "first") -> Query:
    """All three attributes at epsilon 1; one-end rows, or a plan, for who is after those."""
    rows = RandomizedResponse.from_epsilon(1.0, n=N, reporting="one-end" if adversary == "both-ends" else "both")
    query = Query(
        collection,
        ((Ask("adjacency", (rows,)), Ask("features", (OneBit.from_epsilon(1.0, d=D),)),
          Ask("label", (GRR.from_epsilon(1.0, categories=CLASSES),))),),
    )  # fmt: skip
    return two_stages(query, N) if adversary == "broken-plans" else query


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[object, ...], Path]:
    """Folders with devices that nobody asked yet, by how they were enrolled; a test gets a copy."""
    return {(): tmp_path_factory.mktemp("enrolled")}


@pytest.fixture
def target_for(tmp_path: Path, people: Population, templates: dict[tuple[object, ...], Path]) -> Callable[..., Target]:
    """Enrol devices for an adversary; ``wide`` devices would allow every question but for the ledger."""
    number = itertools.count()

    def make(adversary: str, *, on_requery: str = "refuse", wide: bool = False, counted: bool = False,
             collector: CuratorKey | None = None) -> Target:  # fmt: skip
        query, folder = honest(adversary), tmp_path / f"state-{next(number)}"
        policy = policy_for(
            [query], people.facts, on_requery=on_requery,  # type: ignore[arg-type]
            reporting="one-end" if adversary == "both-ends" else "both",
        )  # fmt: skip
        if collector is not None:
            policy = replace(policy, collector=collector.public)
        if wide:
            caps = dict.fromkeys(("adjacency", "features", "label"), WIDE)
            policy = replace(policy, caps=caps, mechanisms=frozenset(BUILT_IN))
        if counted:
            enrol(folder, people, policy, seed=5, counters=tmp_path / "apart").close()
        else:
            key = (query.digest, on_requery, wide, policy.collector)
            if key not in templates:
                templates[key] = templates[()] / str(len(templates))
                enrol(templates[key], people, policy, seed=5).close()
            shutil.copytree(templates[key], folder)
        return Target.of(folder, query, collector)

    return make
