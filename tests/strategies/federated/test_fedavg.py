"""Flower's strategies of the FedAvg family, and its wrappers for central noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from flwr.app import Message, MessageType, RecordDict
from flwr.serverapp.strategy import FedAvg

from ldpsim.curator.methods import Budget
from ldpsim.curator.methods.federated.fedavg import FedAvgMLP
from ldpsim.curator.methods.federated.private import DPFedAvg
from ldpsim.devices.federated.wire import WEIGHTS, weights_record
from ldpsim.devices.training_task import Task
from ldpsim.strategies.federated import AdaptiveClipping, FixedClipping, TrainingPlan, _moved, private, strategy_for

PLAN = TrainingPlan(Task("first", "own", 4, 3, 2, 0.3, 2), Budget(), range(1, 9), 4, 0)


@pytest.mark.parametrize("where", ["nowhere", "ldpsim.curator.names", "no_package.of_this_name"])
def test_a_strategy_that_is_not_there_is_named(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FedAvgMLP, "spec", replace(FedAvgMLP.spec, strategy=where))
    with pytest.raises(ValueError, match=f"fedavg-mlp: its strategy '{where}' needs make.*"):
        strategy_for(FedAvgMLP(), PLAN)


@pytest.mark.parametrize("first", [0.0, 0.5, -3.0, 5000.0, -2e6])
def test_an_update_of_zero_is_moved_so_far_that_a_float32_shows_it(first: float) -> None:
    """1e-6 for weights below 1, and a millionth of a larger one: at 5,000 the numbers of float32 are 5e-4 apart."""
    before = np.array([first, 1.0, -1.0], np.float32)
    asked = Message(RecordDict(), 1, MessageType.TRAIN)
    reply = Message(RecordDict({"arrays": weights_record(before)}), reply_to=asked)
    moved = _moved(reply, weights_record(before)).content.array_records["arrays"][WEIGHTS].numpy()
    step = np.float64(moved[0]) - np.float64(np.float32(first))
    assert step == pytest.approx(max(1e-6, 1e-6 * abs(first)), rel=0.3) and step > 0
    assert np.array_equal(moved[1:], before[1:])


@pytest.mark.parametrize(("sample", "multiplier", "expected"), [(100, 2.0, 5.0), (10, 2.0, 2.0), (40, 2.0, 2.0)])
def test_the_noise_of_the_clipping_count_is_the_larger_one_of_a_twentieth_and_the_multiplier(
    sample: int, multiplier: float, expected: float
) -> None:
    """With less than the multiplier, the count alone would take more than the release may lose."""
    found = private(FedAvg(), DPFedAvg(clipping="adaptive"), multiplier=multiplier, sample=sample, noise_seed=1)
    assert isinstance(found, AdaptiveClipping) and found.clipped_count_stddev == expected
    fixed = private(FedAvg(), DPFedAvg(clipping="fixed", clip=3.0), multiplier=multiplier, sample=sample, noise_seed=1)
    assert isinstance(fixed, FixedClipping) and (fixed.noise_multiplier, fixed.clipping_norm) == (multiplier, 3.0)
