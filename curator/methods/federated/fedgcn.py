"""FedGCN with one person a device."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ldpsim.curator.methods.federated.federated import Federated


@dataclass(frozen=True)
class FedGCN(Federated):
    """FedGCN (Yao et al. 2023, https://arxiv.org/abs/2201.12433) with one person a device.

    The neighbours' sums are exchanged once, before training.
    """

    spec = replace(
        Federated.spec, name="fedgcn", paper="Yao, Jin, Ravi, Joe-Wong, FedGCN: Convergence-Communication Tradeoffs",
        sees="sums", uses=("adjacency", "features", "label"), training_defaults={"hidden": 16, "lr": 0.5},
    )  # fmt: skip
