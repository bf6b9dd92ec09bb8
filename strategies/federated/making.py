"""Strategy of a federated method, found by the name that the method gives.

``Federated.strategy`` is the name of a module here, or the whole name of a module of another package. It has
``make(method, plan)``, which returns the strategy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from flwr.serverapp.strategy import Strategy

from ldpsim.curator.methods.base import Budget
from ldpsim.curator.methods.federated.fedavg import Federated
from ldpsim.devices.training_task import Task


@dataclass(frozen=True)
class TrainingPlan:
    """Facts about a training that a strategy may need.

    Args:
        task: The task of the devices or silos.
        budget: The budget.
        nodes: All nodes, also those that do not train.
        people: Number of devices or silos that train.
        seed: Seed of what the strategy draws; of a method with noise of the server, derived from the noise seed.
    """

    task: Task
    budget: Budget
    nodes: Sequence[int]
    people: int
    seed: int


def strategy_for(method: Federated, plan: TrainingPlan) -> Strategy:
    """Return a new strategy of a method.

    Raises:
        ValueError: for a method whose strategy is nowhere.
    """
    own = method.spec.strategy
    name = own if "." in own else f"ldpsim.strategies.federated.{own}"
    try:
        module: Any = import_module(name)
    except ModuleNotFoundError as error:
        if not name.startswith(error.name or ""):  # something that the module itself imports
            raise
        module = None
    if not hasattr(module, "make"):
        raise ValueError(f"{method.spec.name}: its strategy {own!r} needs make(method, plan) in a module {name}")
    made: Strategy = module.make(method, plan)
    return made
