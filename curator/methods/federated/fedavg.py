"""FedAvg: devices take local steps on their own records, and the server takes the mean of the models.

McMahan et al. 2017, https://arxiv.org/abs/1602.05629. In each round, with the server's weights x and the sampled
devices S, device i of S takes K local steps from y_i = x and sends the update y_i - x:

    y_i <- y_i - lr grad f_i(y_i)     K times, f_i the cross-entropy of its own record
    x   <- x + mean over S of (y_i - x)

All devices have one record, so the mean has equal weights. ``fedavg-mlp`` has a perceptron of two layers on the
device's own features. With one person a device, FedAvg of a GCN has no edge to train on: ``fedavg-gnn`` is that method
with the neighbours' representations, which go through the server.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ldpsim.curator.methods.federated.federated import Federated

_FEDAVG = "McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data (FedAvg)"


@dataclass(frozen=True)
class FedAvgMLP(Federated):
    """FedAvg (McMahan et al. 2017, https://arxiv.org/abs/1602.05629) of a perceptron on each device's own record."""

    spec = replace(
        Federated.spec, name="fedavg-mlp", paper=_FEDAVG, default_gnn="mlp", training_defaults={"hidden": 16, "lr": 0.3}
    )  # fmt: skip


@dataclass(frozen=True)
class FedAvgGNN(Federated):
    """FedAvg (https://arxiv.org/abs/1602.05629) of a two-layer GCN, each device on its own ego net.

    Neighbours' representations (the first layer's products and hidden units, of the model
    of the round before) go through the server in every round; they are constants in a
    device's gradient.
    """

    spec = replace(
        Federated.spec, name="fedavg-gnn", paper=_FEDAVG, strategy="ego_fedavg", optimisers=("average",), sees="ego",
        uses=("adjacency", "features", "label"), training_defaults={"hidden": 16, "lr": 0.5},
    )  # fmt: skip
