"""FedProx: FedAvg with a proximal term in the loss of a device (Li et al. 2020, https://arxiv.org/abs/1812.06127).

A device takes its local steps on f_i(y) + mu / 2 |y - x|^2 in place of f_i(y), with x the server's weights of the
round. The rest is :mod:`ldpsim.curator.methods.federated.fedavg`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ldpsim.curator.methods.federated.fedavg import FedAvgMLP
from ldpsim.curator.methods.parameters import POSITIVE, parameter

FEDPROX = "Li et al., Federated Optimization in Heterogeneous Networks (FedProx)"


@dataclass(frozen=True)
class FedProx(FedAvgMLP):
    """FedAvg-MLP with FedProx's proximal term (https://arxiv.org/abs/1812.06127).

    Args:
        proximal_mu: Weight of the term.
    """

    proximal_mu: float = parameter(0.1, POSITIVE)

    spec = replace(FedAvgMLP.spec, name="fedprox", paper=FEDPROX, optimisers=("average",))  # Flower's has no other
