"""Silos: parties that hold their members' raw records and train a GCN together.

Every silo is a trusted curator for its members, and one Flower client. Between silos and
server there is no noise.

Partitions: ``dirichlet``: each class is divided over the silos in proportions drawn from a
symmetric Dirichlet distribution (at beta = 10,000 nearly uniform: the partition of FedGCN's
and FedGraph's tables); ``metis``: parts of the graph with few edges between them (the
non-overlapping partition of FED-PUB, Baek et al. 2023).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from curator.methods.base import Budget, Question
from curator.methods.federated.fedavg import Federated, unprotected
from curator.privacy.guarantee import Guarantee
from devices.facts import PublicFacts

PARTITIONS = ("dirichlet", "metis")


@dataclass(frozen=True)
class Silos(Federated):
    """FedAvg of a two-layer GCN over silos, each on the graph that its members induce.

    Args:
        silos: Number of silos.
        partition: Who is in which: ``dirichlet`` or ``metis``.
        beta: Of the Dirichlet distribution.
        scaling: As above; ``none`` is what FedGCN's published code does.

    Raises:
        ValueError: for a parameter outside its range.
    """

    rounds: int = 200
    local_steps: int = 3
    silos: int = 10
    partition: str = "dirichlet"
    beta: float = 10_000.0
    scaling: str = "none"

    name: ClassVar[str] = "silo-fedavg-gcn"
    paper: ClassVar[str] = "McMahan et al. (FedAvg), with the settings of Yao et al. (FedGCN)"
    silo: ClassVar[bool] = True
    uses: ClassVar[tuple[str, ...]] = ("adjacency", "features", "label")
    sums: ClassVar[bool] = False
    training_defaults: ClassVar[Mapping[str, Any]] = {
        "hidden": 16, "lr": 0.5, "weight_decay": 5e-4, "gnn_dropout": 0.5,
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.silos < 2:
            raise ValueError(f"--set silos={self.silos}: at least 2 are needed")
        if self.partition not in PARTITIONS:
            raise ValueError(f"--set partition={self.partition}: must be one of {', '.join(PARTITIONS)}")
        if not (math.isfinite(self.beta) and self.beta > 0):
            raise ValueError(f"--set beta={self.beta:g}: must be a finite number above 0")

    def check_people(self, people: int) -> None:
        """Refuse silos of one person (ValueError)."""
        if 2 * self.silos > people:
            raise ValueError(
                f"--set silos={self.silos}: of {people} people that leaves silos of one, and with one person a silo "
                "FedAvg of a GCN has no edge to train on (fedavg-mlp is that; fedavg-gnn exchanges over edges)"
            )

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Nothing is protected: from the silo by trust alone, from the server by nothing."""
        detail = "the silo has the raw record, and the server sees every update of the silo in clear"
        return unprotected(self.uses, trust=self.trust, detail=detail)


@dataclass(frozen=True)
class SiloFedProx(Silos):
    """As silo-fedavg-gcn, with FedProx's proximal term.

    Args:
        proximal_mu: Its weight.
    """

    proximal_mu: float = 0.01

    name: ClassVar[str] = "silo-fedprox"
    paper: ClassVar[str] = "Li et al., Federated Optimization in Heterogeneous Networks (FedProx)"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.proximal_mu) and self.proximal_mu > 0):
            raise ValueError(f"--set proximal_mu={self.proximal_mu:g}: must be a finite number above 0")

    @property
    def mu(self) -> float:
        """Weight of FedProx's term."""
        return self.proximal_mu


@dataclass(frozen=True)
class SiloFedGCN(Silos):
    """FedGCN: before training, silos exchange their neighbours' feature sums once through the server."""

    name: ClassVar[str] = "silo-fedgcn"
    paper: ClassVar[str] = "Yao, Jin, Ravi, Joe-Wong, FedGCN: Convergence-Communication Tradeoffs"
    sums: ClassVar[bool] = True
