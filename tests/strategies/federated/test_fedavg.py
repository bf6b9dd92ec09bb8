"""Flower's strategy of a method of the FedAvg family.

It covers ``strategies/federated.py`` too.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from flwr.serverapp.strategy import FedAdam, FedAvg, FedProx

from ldpsim.curator.methods import Budget
from ldpsim.curator.methods.federated.fedavg import FedAvgGNN, FedAvgMLP
from ldpsim.curator.methods.federated.fedavg import FedProx as Proximal
from ldpsim.devices.training_task import Task
from ldpsim.strategies.federated import TrainingPlan, strategy_for

PLAN = TrainingPlan(Task("first", "own", 4, 3, 2, 0.3, 2), Budget(), range(1, 9), 4, 0)


def test_each_method_has_flowers_strategy() -> None:
    assert type(strategy_for(FedAvgMLP(), PLAN)) is FedAvg
    prox = strategy_for(Proximal(proximal_mu=0.5), PLAN)
    assert isinstance(prox, FedProx) and prox.proximal_mu == 0.5
    adam = strategy_for(FedAvgMLP(server_optimiser="adam", server_lr=0.25), PLAN)
    assert isinstance(adam, FedAdam) and adam.eta == 0.25
    for kind in (Proximal, FedAvgGNN):
        with pytest.raises(ValueError, match="server_optimiser=adam: must be one of average"):
            kind(server_optimiser="adam")


@pytest.mark.parametrize("where", ["nowhere", "ldpsim.curator.names", "no_package.of_this_name"])
def test_a_strategy_that_is_not_there_is_named(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FedAvgMLP, "spec", replace(FedAvgMLP.spec, strategy=where))
    with pytest.raises(ValueError, match=f"fedavg-mlp: its strategy '{where}' needs make.*"):
        strategy_for(FedAvgMLP(), PLAN)
