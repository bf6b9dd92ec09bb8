"""Settings of the methods that train in rounds on devices.

It covers ``ldpsim.curator.methods.federated.private`` too.
"""

from __future__ import annotations

import pytest

from ldpsim.curator.methods.federated.fedavg import FedAvgMLP, FedProx
from ldpsim.curator.methods.federated.private import LDPFedAvg


@pytest.mark.parametrize("mu", ["0", "-0.1", "nan", "inf"])
def test_a_proximal_weight_is_a_finite_number_above_0(mu: str) -> None:
    with pytest.raises(ValueError, match=f"--set proximal_mu={mu}: must be 1e-09 to"):
        FedProx.from_settings({"proximal_mu": mu})
    assert FedProx.from_settings({"proximal_mu": "0.25"}).mu == 0.25
    assert FedAvgMLP().mu == 0


@pytest.mark.parametrize(
    "rounds, fraction, answers", [(10, 0.2, 2), (11, 0.2, 3), (1, 0.2, 1), (8, 0.25, 2), (3, 1, 3)]
)
def test_the_answers_of_a_device_are_those_of_the_one_that_is_asked_most(
    rounds: int, fraction: float, answers: int
) -> None:
    """Devices take turns; where the rounds are no multiple of the turns, some have a turn more than others."""
    turns = round(1 / fraction)
    given = [len(range(first, rounds, turns)) for first in range(turns)]
    assert LDPFedAvg(rounds=rounds, fraction=fraction).answers == max(given) == answers


def test_parameters_of_the_rounds_are_checked_at_their_ends() -> None:
    for wrong in (
        {"rounds": 0}, {"local_steps": 0}, {"evaluate_every": -1}, {"fraction": 0.0}, {"fraction": 1.01},
        {"dropping": -0.1}, {"dropping": 1.0}, {"server_lr": 0.0}, {"server_lr": -1.0}, {"server_optimiser": "none"},
    ):  # fmt: skip
        (name,) = wrong
        with pytest.raises(ValueError, match=f"--set {name}="):
            FedAvgMLP(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="--set rounds=0"):
        FedProx(rounds=0)
    FedAvgMLP(rounds=1, local_steps=1, evaluate_every=0, fraction=1.0, dropping=0.0, server_lr=1e-9)
