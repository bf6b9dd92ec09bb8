"""FedAvg, FedProx and FedAdam as Flower has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from flwr.serverapp.strategy import FedAdam, FedAvg, FedProx

from ldpsim.curator.methods.federated.fedavg import Federated
from ldpsim.strategies.federated.making import TrainingPlan
from ldpsim.strategies.rounds.server_state import ServerState

# TrainingGrid picks the nodes of a round; Flower's strategies then ask all of them.
EVERYBODY: Mapping[str, Any] = {"min_train_nodes": 0, "min_evaluate_nodes": 0, "min_available_nodes": 0}


class ServerAdam(FedAdam):
    """Flower's FedAdam; its state are the two moments of the update, by name of the array."""

    def state(self) -> ServerState:
        """Return the moments; nothing before the first round."""
        moments = {"m_t": self.m_t, "v_t": self.v_t}
        return {f"{name}.{key}": value for name, found in moments.items() for key, value in (found or {}).items()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Set the moments."""
        for name in ("m_t", "v_t"):
            start = f"{name}."
            kept = {key.removeprefix(start): value for key, value in state.items() if key.startswith(start)}
            setattr(self, name, kept or None)


def make(method: Federated, plan: TrainingPlan) -> FedAvg:
    """Return FedAvg, FedProx or FedAdam."""
    if method.server_optimiser == "adam":
        return ServerAdam(**EVERYBODY, eta=method.server_lr, tau=1e-8)
    if method.mu:
        return FedProx(**EVERYBODY, proximal_mu=method.mu)
    return FedAvg(**EVERYBODY)
