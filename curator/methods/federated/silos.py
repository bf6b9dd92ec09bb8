"""Silos: parties that hold their members' raw records and train a GCN together.

Every silo is a trusted curator of its members, and one Flower client. There is no noise between
silos and server.

Partitions: ``dirichlet`` divides each class over the silos in proportions drawn from a
symmetric Dirichlet distribution (nearly uniform at beta = 10,000: the partition of FedGCN's
and FedGraph's tables). ``metis`` makes parts with few edges between them (the
non-overlapping partition of FED-PUB, Baek et al. 2023).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ldpsim.curator.methods.federated.fedavg import Federated, ProximalTerm
from ldpsim.curator.methods.parameters import parameter, unused
from ldpsim.curator.setting_error import SettingError

PARTITIONS = ("dirichlet", "metis")


@dataclass(frozen=True)
class Silos(Federated):
    """FedAvg (McMahan et al. 2017, https://arxiv.org/abs/1602.05629) of a two-layer GCN over silos.

    Each silo trains on the subgraph of its members.

    Args:
        silos: Number of silos.
        partition: Assignment of people to silos: ``dirichlet`` or ``metis``.
        beta: Parameter of the Dirichlet distribution.
        scaling: As in :class:`Federated`; FedGCN's published code has ``none``.

    Raises:
        ValueError: for a parameter outside its range.
    """

    rounds: int = 200
    local_steps: int = 3
    evaluate_every: int = unused(0)
    silos: int = 10
    partition: str = "dirichlet"
    beta: float = parameter(10_000.0, partition=("dirichlet",))

    name: ClassVar[str] = "silo-fedavg-gcn"
    paper: ClassVar[str] = "McMahan et al. (FedAvg), with the settings of Yao et al. (FedGCN)"
    trained_by: ClassVar[str] = "silos"
    uses: ClassVar[tuple[str, ...]] = ("adjacency", "features", "label")
    seen: ClassVar[str] = "the silo has the raw record, and the server sees every update of the silo in clear"
    sums: ClassVar[bool] = False
    options: ClassVar[frozenset[str]] = Federated.options | {"on_requery"}
    training_read: ClassVar[frozenset[str] | None] = frozenset({"hidden", "lr", "weight_decay", "gnn_dropout"})
    training_defaults: ClassVar[Mapping[str, Any]] = {
        "hidden": 16, "lr": 0.5, "weight_decay": 5e-4, "gnn_dropout": 0.5,
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_range("silos", least=2)
        self.check_choices(partition=PARTITIONS)
        self.check_numbers("beta", positive=True)

    def check_people(self, people: int) -> None:
        """Refuse silos of one person (ValueError)."""
        if 2 * self.silos > people:
            raise SettingError(
                f"silos={self.silos}",
                f"of {people} people that leaves silos of one, and with one person a silo "
                "FedAvg of a GCN has no edge to train on (fedavg-mlp is that; fedavg-gnn exchanges over edges)",
            )


@dataclass(frozen=True)
class SiloFedProx(ProximalTerm, Silos):
    """silo-fedavg-gcn with FedProx's proximal term (https://arxiv.org/abs/1812.06127).

    Args:
        proximal_mu: Weight of the term.
    """

    proximal_mu: float = 0.01

    name: ClassVar[str] = "silo-fedprox"


@dataclass(frozen=True)
class SiloFedGCN(Silos):
    """FedGCN (Yao et al. 2023, https://arxiv.org/abs/2201.12433) over silos.

    Before training, silos exchange their neighbours' feature sums once through the server.
    """

    name: ClassVar[str] = "silo-fedgcn"
    paper: ClassVar[str] = "Yao, Jin, Ravi, Joe-Wong, FedGCN: Convergence-Communication Tradeoffs"
    sums: ClassVar[bool] = True
