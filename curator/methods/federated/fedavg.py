"""Federated baselines: their parameters and guarantees.

Nothing here trains. The rounds are Flower's (``strategies``), and the local steps run on
devices or in silos (``devices``).

With one person a device, FedAvg of a GCN has no edge to train on: a device's own node has
no neighbour on the device. ``fedavg-mlp`` is that method by its right name. Edges enter with
``fedavg-gnn`` and ``fedgcn`` (neighbours' values go through the server) or with silos.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from curator.methods.base import Budget, Question, WithoutReports
from curator.privacy.guarantee import Claim, Guarantee, Level, open_guarantee
from curator.privacy.levels import LEVELS
from devices.facts import PublicFacts

_FEDAVG = "McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data (FedAvg)"
_LEAK = (
    "an update is a function of the record, and nothing bounds what it reveals: the gradient of a single example "
    "determines its features and label exactly (Zhu et al. 2019; the first layer's gradient is the feature row times "
    "a number)"
)
SCALINGS = ("unit", "row", "none")
SERVER_OPTIMISERS = ("average", "adam")


@dataclass(frozen=True)
class Federated(WithoutReports):
    """A training in rounds.

    Args:
        rounds: Number of rounds.
        fraction: Share of the training devices (or silos) that each round asks.
        local_steps: Gradient steps of an answer.
        server_optimiser: ``average`` (FedAvg) or ``adam`` (FedAdam, Reddi et al. 2021).
        server_lr: FedAdam's learning rate.
        dropping: Share of the asked devices that drop out during a round.
        evaluate_every: Rounds between evaluations on validation devices; the best model is kept.
            0: no evaluation; the last model is kept.
        scaling: Scaling of a record's features: ``unit`` (length 1, so that one learning rate fits
            records with few and with many features), ``row`` (divided by their sum) or ``none``.

    Raises:
        ValueError: for a parameter outside its range.
    """

    rounds: int = 100
    fraction: float = 1.0
    local_steps: int = 5
    server_optimiser: str = "average"
    server_lr: float = 0.01
    dropping: float = 0.0
    evaluate_every: int = 0
    scaling: str = "none"

    trust: ClassVar[str] = "trusted curator"
    learns_from: ClassVar[str] = "is trained in rounds"
    common_selection: ClassVar[bool] = False
    sees: ClassVar[str] = "own"  # view of a device: see devices/training_task.py
    silo: ClassVar[bool] = False
    uses: ClassVar[tuple[str, ...]] = ("features", "label")
    seen: ClassVar[str] = "the server sees every update in clear"

    def __post_init__(self) -> None:
        self.check_range("rounds", "local_steps", least=1)
        self.check_range("evaluate_every", least=0)
        if not 0 < self.fraction <= 1:
            raise ValueError(f"--set fraction={self.fraction:g}: must be above 0 and at most 1")
        if not 0 <= self.dropping < 1:
            raise ValueError(f"--set dropping={self.dropping:g}: must be 0 or more and below 1")
        self.check_choices(scaling=SCALINGS, server_optimiser=SERVER_OPTIMISERS)
        self.check_numbers("server_lr", positive=True)

    @property
    def mu(self) -> float:
        """Weight of FedProx's term."""
        return 0.0

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return a guarantee of nothing: training has no noise."""
        claim = "raw data stay on the device; no figure is claimed"
        return replace(open_guarantee(self.uses, trust=self.trust, statement=claim, detail=self.seen),
                       why_they_differ=(_LEAK,))  # fmt: skip


@dataclass(frozen=True)
class FedAvgMLP(Federated):
    """FedAvg (McMahan et al. 2017, https://arxiv.org/abs/1602.05629) of a perceptron on each device's own record."""

    name: ClassVar[str] = "fedavg-mlp"
    paper: ClassVar[str] = _FEDAVG
    default_gnn: ClassVar[str] = "mlp"
    training_defaults: ClassVar[Mapping[str, Any]] = {"hidden": 16, "lr": 0.3}


class ProximalTerm:
    """FedProx's proximal term (Li et al. 2020, https://arxiv.org/abs/1812.06127), of weight ``proximal_mu``.

    No dataclass and no :class:`Federated`, as its fields would hide those of the other base.
    """

    proximal_mu: float

    paper: ClassVar[str] = "Li et al., Federated Optimization in Heterogeneous Networks (FedProx)"

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]  # of the other base
        self.check_numbers("proximal_mu", positive=True)  # type: ignore[attr-defined]

    @property
    def mu(self) -> float:
        """Weight of FedProx's term."""
        return self.proximal_mu


@dataclass(frozen=True)
class FedProx(ProximalTerm, FedAvgMLP):
    """FedAvg-MLP with FedProx's proximal term (https://arxiv.org/abs/1812.06127).

    Args:
        proximal_mu: Weight of the term.
    """

    proximal_mu: float = 0.1

    name: ClassVar[str] = "fedprox"


@dataclass(frozen=True)
class Isolate(FedAvgMLP):
    """Every training device trains alone and sends nothing; the result is the mean score of their networks."""

    rounds: int = 1
    local_steps: int = 50

    name: ClassVar[str] = "isolate"
    paper: ClassVar[str] = "reference: no party talks to another"
    trust: ClassVar[str] = "untrusted curator"

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return that nothing leaves a device."""
        nothing = Level("not asked", detail="nothing leaves the device")
        return Guarantee(self.trust, Claim("nothing leaves the device", None), dict.fromkeys(LEVELS, nothing))


@dataclass(frozen=True)
class FedAvgGNN(Federated):
    """FedAvg (https://arxiv.org/abs/1602.05629) of a two-layer GCN, each device on its own ego net.

    Neighbours' representations (the first layer's products and hidden units, of the model
    of the round before) go through the server in every round; they are constants in a
    device's gradient.
    """

    name: ClassVar[str] = "fedavg-gnn"
    paper: ClassVar[str] = _FEDAVG
    sees: ClassVar[str] = "ego"
    uses: ClassVar[tuple[str, ...]] = ("adjacency", "features", "label")
    training_defaults: ClassVar[Mapping[str, Any]] = {"hidden": 16, "lr": 0.5}


@dataclass(frozen=True)
class FedGCN(Federated):
    """FedGCN (Yao et al. 2023, https://arxiv.org/abs/2201.12433) with one person a device.

    The neighbours' sums are exchanged once, before training.
    """

    name: ClassVar[str] = "fedgcn"
    paper: ClassVar[str] = "Yao, Jin, Ravi, Joe-Wong, FedGCN: Convergence-Communication Tradeoffs"
    sees: ClassVar[str] = "sums"
    uses: ClassVar[tuple[str, ...]] = ("adjacency", "features", "label")
    training_defaults: ClassVar[Mapping[str, Any]] = {"hidden": 16, "lr": 0.5}
