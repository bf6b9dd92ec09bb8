"""Silos: parties that hold their members' raw records and train a GCN together.

Every silo is a trusted curator of its members, and one Flower client. There is no noise between
silos and server.

Partitions: ``dirichlet`` divides each class over the silos in proportions drawn from a
symmetric Dirichlet distribution (nearly uniform at beta = 10,000: the partition of FedGCN's
and FedGraph's tables). ``metis`` makes parts with few edges between them (the
non-overlapping partition of FED-PUB, Baek et al. 2023). ``random`` makes equal parts of a
permutation, and ``louvain`` deals out Louvain's communities (FederatedScope-GNN, Wang et al.
2022). Each person is in one silo.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ldpsim.curator.methods.federated.federated import ROUNDS, STEPS, Federated
from ldpsim.curator.methods.federated.fedprox import FEDPROX
from ldpsim.curator.methods.parameters import POSITIVE, one_of, parameter, unused, whole
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.facts import PublicFacts


@dataclass(frozen=True)
class Silos(Federated):
    """FedAvg (McMahan et al. 2017, https://arxiv.org/abs/1602.05629) of a two-layer GCN over silos.

    Each silo trains on the subgraph of its members.

    Args:
        server_optimiser: Also ``sgd``, FedOpt's server with plain steps, x+ = x + server_lr (mean - x), and ``none``:
            every silo trains alone and keeps its own weights.
        silos: Number of silos; 1: all people together.
        partition: Assignment of people to silos: ``dirichlet``, ``metis``, ``random`` or ``louvain``.
        beta: Parameter of the Dirichlet distribution.
        network: ``gcn``; ``sage``: a GraphSAGE of means (Hamilton, Ying and Leskovec 2017); or ``gat``: attention of
            one head a layer (Velickovic et al. 2018).
        scored_on: Graph on which a person's class is predicted: of the person's own ``silo``, or the whole ``graph``,
            which no silo has. Published tables have the second. Silos that train alone then have the mean accuracy
            of their models.
        patience: 0: all rounds, and the last weights. Otherwise the weights of the round with the smallest
            cross-entropy of the validation people are kept, and a training ends after a round in which it is above the
            mean of so many rounds before.
        scaling: As in :class:`Federated`; FedGCN's published code has ``none``.

    Raises:
        ValueError: for a parameter outside its range.
    """

    rounds: int = parameter(200, ROUNDS)
    local_steps: int = parameter(3, STEPS)
    server_lr: float = parameter(0.01, POSITIVE, server_optimiser=("adam", "sgd"))
    evaluate_every: int = unused(0)
    silos: int = parameter(10, whole(1))
    partition: str = parameter("dirichlet", one_of("dirichlet", "metis", "random", "louvain"))
    beta: float = parameter(10_000.0, POSITIVE, partition=("dirichlet",))
    network: str = parameter("gcn", one_of("gcn", "sage", "gat"), hashed="unless default")
    scored_on: str = parameter("silo", one_of("silo", "graph"), hashed="unless default")
    patience: int = parameter(0, whole(0), hashed="unless default", scored_on=("graph",))

    spec = replace(
        Federated.spec, name="silo-fedavg-gcn",
        paper="McMahan et al. (FedAvg), with the settings of Yao et al. (FedGCN)", trained_by="silos",
        uses=("adjacency", "features", "label"),
        exposure="the silo has the raw record, and the server sees every update of the silo in clear",
        optimisers=("average", "adam", "sgd", "none"), options=Federated.spec.options | {"on_requery"},
        training_read=frozenset({"hidden", "lr", "weight_decay", "gnn_dropout"}),
        training_defaults={"hidden": 16, "lr": 0.5, "weight_decay": 5e-4, "gnn_dropout": 0.5},
    )  # fmt: skip

    def check_people(self, facts: PublicFacts) -> None:
        """As :meth:`~ldpsim.curator.methods.base.Method.check_people`, and refuse silos of one person (ValueError)."""
        super().check_people(facts)
        if 2 * self.silos > facts.n:
            raise SettingError(
                f"silos={self.silos}",
                f"of {facts.n} people that leaves silos of one, and with one person a silo "
                "FedAvg of a GCN has no edge to train on (fedavg-mlp is that; fedavg-gnn exchanges over edges)",
            )


@dataclass(frozen=True)
class SiloFedProx(Silos):
    """silo-fedavg-gcn with FedProx's proximal term (https://arxiv.org/abs/1812.06127).

    Args:
        proximal_mu: Weight of the term.
    """

    proximal_mu: float = parameter(0.01, POSITIVE)

    spec = replace(Silos.spec, name="silo-fedprox", paper=FEDPROX, optimisers=("average",))


@dataclass(frozen=True)
class SiloFedGCN(Silos):
    """FedGCN (Yao et al. 2023, https://arxiv.org/abs/2201.12433) over silos.

    Before training, silos exchange their neighbours' feature sums once through the server.
    """

    network: str = unused("gcn", hashed="unless default")

    spec = replace(
        Silos.spec, name="silo-fedgcn", paper="Yao, Jin, Ravi, Joe-Wong, FedGCN: Convergence-Communication Tradeoffs",
        sees="sums", optimisers=("average", "adam", "sgd"),
    )  # fmt: skip
