"""Flower's strategies of the FedAvg family, and its wrappers for central noise."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flwr.serverapp.strategy import FedAvg

from ldpsim.curator.methods import Budget
from ldpsim.curator.methods.federated.dp_fedavg import DPFedAvg
from ldpsim.curator.methods.federated.fedavg import FedAvgMLP
from ldpsim.devices.training_task import Task
from ldpsim.strategies.federated import AdaptiveClipping, FixedClipping, TrainingPlan, private, strategy_for

PLAN = TrainingPlan(Task("first", "own", 4, 3, 2, 0.3, 2), Budget(), range(1, 9), 4, 0)


@pytest.mark.parametrize("where", ["nowhere", "ldpsim.curator.names", "no_package.of_this_name"])
def test_a_strategy_that_is_not_there_is_named(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FedAvgMLP, "spec", replace(FedAvgMLP.spec, strategy=where))
    with pytest.raises(ValueError, match=f"fedavg-mlp: its strategy '{where}' needs make.*"):
        strategy_for(FedAvgMLP(), PLAN)


@pytest.mark.parametrize(("sample", "multiplier", "expected"), [(100, 2.0, 5.0), (10, 2.0, 2.0), (40, 2.0, 2.0)])
def test_the_noise_of_the_clipping_count_is_the_larger_one_of_a_twentieth_and_the_multiplier(
    sample: int, multiplier: float, expected: float
) -> None:
    """With less than the multiplier, the count alone would take more than the release may lose."""
    found = private(FedAvg(), DPFedAvg(clipping="adaptive"), multiplier=multiplier, sample=sample, noise_seed=1)
    assert isinstance(found, AdaptiveClipping) and found.clipped_count_stddev == expected
    fixed = private(FedAvg(), DPFedAvg(clipping="fixed", clip=3.0), multiplier=multiplier, sample=sample, noise_seed=1)
    assert isinstance(fixed, FixedClipping) and (fixed.noise_multiplier, fixed.clipping_norm) == (multiplier, 3.0)
