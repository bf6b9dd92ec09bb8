"""State of every federated method's strategy: a training that is restored goes on as if nobody had stopped it.

The members come from the registry of methods, and the variants of a method from the choices that it allows. It covers
``strategies/rounds/checkpoint.py``.

Covers strategies/rounds/server_state.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from flwr.serverapp.strategy import Strategy

from ldpsim.curator.methods import Budget, table
from ldpsim.curator.methods.federated.fedavg import Federated
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.federated.wire import weights_record
from ldpsim.devices.network import FloatArray
from ldpsim.devices.policy.policy import policy_for_training
from ldpsim.devices.training_task import Task
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.federated import TrainingPlan, strategy_for
from ldpsim.strategies.rounds.checkpoint import Standing, run_rounds, state_of
from ldpsim.strategies.rounds.training_grid import TrainingGrid, draw_nodes
from ldpsim.strategies.seeded import seeded

PEOPLE, ROUNDS = 12, 4
Make = Callable[[], Strategy]


TASK = Task("first", "own", 20, 3, 3, 0.3, 2)
PLAN = TrainingPlan(TASK, Budget(), range(1, PEOPLE + 1), PEOPLE, 3)


def plain(strategy: Any) -> dict[str, Any]:
    """Return the attributes of a strategy that are data, those of a strategy that it wraps included."""
    inner = getattr(strategy, "strategy", None)
    own = {name: value for name, value in vars(strategy).items() if not callable(value) and value is not inner}
    return own if inner is None else {**plain(inner), **own}


def variants(kind: type[Federated]) -> Iterator[tuple[str, Federated]]:
    """Yield a method, and it with each choice of a text parameter that has another strategy; a refusal lists them."""
    usual = kind()
    yield usual.spec.name, usual
    made = strategy_for(usual, PLAN)
    for entry in fields(kind):
        if entry.type in ("str", str):
            with pytest.raises(ValueError, match="must be one of") as refusal:
                kind(**{entry.name: "none of them"})
            choices = re.search("must be one of (.*)", str(refusal.value))
            assert choices is not None
            for choice in choices[1].split(", "):
                method = replace(usual, **{entry.name: choice})  # type: ignore[arg-type]
                other = strategy_for(method, PLAN)
                if type(other) is not type(made) or plain(other).keys() != plain(made).keys():
                    yield f"{usual.spec.name}-{choice}", method


CASES = dict(
    case for method in table().values() if method.spec.trained_by in ("devices", "silos")
    for case in variants(cast(type[Federated], method))
)  # fmt: skip


@dataclass
class Trace:
    """What a training had after each round: weights, state, attributes and the generators' states."""

    weights: dict[int, bytes] = field(default_factory=dict)
    states: dict[int, Any] = field(default_factory=dict)
    attributes: dict[int, dict[str, Any]] = field(default_factory=dict)
    generators: dict[int, Any] = field(default_factory=dict)
    arrays: dict[int, FloatArray] = field(default_factory=dict)


class Rounds:
    """Devices of their own, and trainings of any strategy on them; some devices rest in each round."""

    def __init__(self, folder: Path, *, sees: str) -> None:
        people = generate(PEOPLE, d=20, classes=3, seed=2, mean_degree=2.0, words=6)
        self.task = replace(TASK, sees="ego" if sees == "ego" else "own")
        enrol(folder, people, policy_for_training(self.task, people.facts, answers=100), seed=4).close()
        self.devices = LocalGrid(folder, PEOPLE)
        self.plan = replace(PLAN, task=self.task)

    def run(self, strategy: Strategy, *, done: int = 0, before: Trace | None = None) -> Trace:
        """Run all rounds, or those after ``done`` from what another training had then."""
        found = Trace()
        grid = TrainingGrid(self.devices, train=lambda number: draw_nodes(range(1, PEOPLE + 1), 0.7, [5, number]))
        start = Standing(self.task.shape.initial(1))

        def note(number: int, arrays: FloatArray) -> None:
            found.weights[number], found.arrays[number] = arrays.tobytes(), arrays
            found.states[number] = copy.deepcopy(state_of(strategy))
            found.attributes[number] = copy.deepcopy(plain(strategy))
            found.generators[number] = (random.getstate(), np.random.get_state())

        with seeded(7):
            if before is not None:
                start = Standing(before.arrays[done], done, server=before.states[done],
                                 randomness=before.generators[done])  # fmt: skip
            elif hasattr(strategy, "subscribe"):
                strategy.subscribe(grid, weights_record(start.weights))
            run_rounds(strategy, grid, start, self.task.to_bytes(), rounds=ROUNDS, after=note)
        return found


def same(one: Any, other: Any) -> bool:
    """Compare attributes, arrays and Flower's records included."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


def check_restored(rounds: Rounds, make: Make) -> Trace:
    """Restore after every round, and require the bytes of the rounds that follow."""
    whole = rounds.run(make())
    for done in range(ROUNDS):
        later = rounds.run(make(), done=done, before=whole)
        if any(later.weights[number] != whole.weights[number] for number in range(done + 1, ROUNDS + 1)):
            had, has = whole.attributes[done], later.attributes[done]
            changed = [name for name in had if not same(had[name], has.get(name))]
            raise AssertionError(
                f"{type(make()).__name__} goes on in another way after round {done}: give state() and restore() what "
                f"later rounds read of {', '.join(changed) or 'nothing that is an attribute'}"
            )
    return whole


@pytest.mark.parametrize("name", CASES)
def test_a_restored_training_goes_on_byte_for_byte(name: str, tmp_path: Path) -> None:
    method = CASES[name]
    rounds = Rounds(tmp_path, sees=method.spec.sees)
    found = check_restored(rounds, lambda: strategy_for(method, rounds.plan))
    assert len(set(found.weights.values())) == ROUNDS + 1  # power: every round changes the weights
