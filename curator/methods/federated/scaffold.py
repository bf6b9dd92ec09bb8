"""SCAFFOLD: FedAvg whose local steps are corrected for the difference between devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ldpsim.curator.methods.federated.fedavg import FedAvgMLP


@dataclass(frozen=True)
class SCAFFOLD(FedAvgMLP):
    """SCAFFOLD (Karimireddy et al. 2020, https://arxiv.org/abs/1910.06378) of a perceptron on each device's own record.

    A device subtracts its own control variate from each gradient and adds the server's: local steps then go where all
    devices' gradients go. Option II of the paper, with a global step size of 1. The server hands a device its control
    variate back with every question, as it follows from the updates that the server saw in clear.
    """

    name: ClassVar[str] = "scaffold"
    paper: ClassVar[str] = "Karimireddy et al., SCAFFOLD: Stochastic Controlled Averaging for Federated Learning"
    strategy: ClassVar[str] = "scaffold"
    optimisers: ClassVar[tuple[str, ...]] = ("average",)
    vectors_down: ClassVar[int] = 2
