"""SCAFFOLD: FedAvg whose local steps are corrected for the difference between devices.

Karimireddy et al. 2020, https://arxiv.org/abs/1910.06378, with option II and a global step size of 1. With the
control variates c of the server and c_i of device i, all 0 at first:

    y_i  <- y_i - lr (grad f_i(y_i) - c_i + c)       K times, from y_i = x
    c_i' =  c_i - c + (x - y_i) / (K lr)             option II
    x    <- x + mean over the sampled devices of (y_i - x)
    c    <- c + (sum over the sampled devices of (c_i' - c_i)) / (number of all devices)
"""

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
        strategy="scaffold", optimisers=("average",),
    )  # fmt: skip
    vectors_down = 2  # weights and the server's control variate; a device's own has no part for the first layer
