"""SCAFFOLD: FedAvg whose local steps are corrected for the difference between devices."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ldpsim.curator.methods.federated.fedavg import FedAvgMLP


@dataclass(frozen=True)
class SCAFFOLD(FedAvgMLP):
    """SCAFFOLD (Karimireddy et al. 2020, https://arxiv.org/abs/1910.06378) of a perceptron on each device's own record.

    A device subtracts its own control variate from each gradient and adds the server's: local steps then go where all
    devices' gradients go. Option II of the paper, with a global step size of 1. The server hands a device its control
    variate back with every question, as it follows from the updates that the server saw in clear.
    """

    spec = replace(
        FedAvgMLP.spec, name="scaffold",
        paper="Karimireddy et al., SCAFFOLD: Stochastic Controlled Averaging for Federated Learning",
        strategy="scaffold", optimisers=("average",), vectors_down=2,
    )  # fmt: skip
