"""Federated baselines: their parameters and guarantees.

Nothing here trains. The rounds are Flower's (``strategies``), and the local steps run on
devices or in silos (``devices``).

With one person a device, FedAvg of a GCN has no edge to train on: a device's own node has
no neighbour on the device. ``fedavg-mlp`` is that method by its right name. Edges enter with
``fedavg-gnn`` and ``fedgcn`` (neighbours' values go through the server) or with silos.

FedNova: FedAvg of devices that take unequal numbers of local steps, each update divided by its number.

SCAFFOLD: FedAvg whose local steps are corrected for the difference between devices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from ldpsim.curator import options as o
from ldpsim.curator.methods.base import Budget, Method, MethodSpec, Question
from ldpsim.curator.methods.parameters import FRACTION, POSITIVE, between, one_of, parameter, unused, whole
from ldpsim.curator.privacy.guarantee import Claim, Guarantee, open_guarantee
from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.facts import MOST_LOCAL_STEPS, PublicFacts
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.training_task import Task

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainingSettings

_FEDAVG = "McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data (FedAvg)"
FEDPROX = "Li et al., Federated Optimization in Heterogeneous Networks (FedProx)"
_LEAK = (
    "an update is a function of the record, and nothing bounds what it reveals: the gradient of a single example "
    "determines its features and label exactly (Zhu et al. 2019; the first layer's gradient is the feature row times "
    "a number)"
)
ROUNDS, STEPS = whole(1), whole(1, MOST_LOCAL_STEPS)


@dataclass(frozen=True, kw_only=True)
class FederatedSpec(MethodSpec):
    """The declarations of a federated method.

    Args:
        strategy: Module of ``strategies/federated``, or of another package in full.
        optimisers: Server optimisers that its strategy has.
        central_noise: Whether the server adds noise to the mean of the updates.
        vectors_down: Vectors of the weights' size that a device is sent in a round.
        takes_turns: Whether a device takes part in every 1 / fraction-th round.
        sees: View of a device (``devices/training_task.py``).
        sums: Whether silos exchange their neighbours' feature sums before training.
        uses: Attributes that the training uses.
        seen: Who sees what.
    """

    strategy: str = "fedavg"
    optimisers: tuple[str, ...] = ("average", "adam")
    central_noise: bool = False
    vectors_down: int = 1
    takes_turns: bool = False
    sees: str = "own"
    sums: bool = False
    uses: tuple[str, ...] = ("features", "label")
    seen: str = "the server sees every update in clear"


@dataclass(frozen=True)
class Federated(Method):
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

    rounds: int = parameter(100, ROUNDS)
    fraction: float = parameter(1.0, FRACTION)
    local_steps: int = parameter(5, STEPS)
    server_optimiser: str = "average"
    server_lr: float = parameter(0.01, POSITIVE, server_optimiser=("adam",))
    dropping: float = parameter(0.0, between(0, 1))
    evaluate_every: int = parameter(0, whole(0))
    scaling: str = parameter("none", one_of("unit", "row", "none"))

    spec: ClassVar[FederatedSpec] = FederatedSpec(
        trained_by="devices", trust="trusted curator", common_selection=False, options=o.SPLIT | o.DEVICES,
        training_read=frozenset({"hidden", "lr"}), reference_read=frozenset({"hidden", "epochs"}),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.server_optimiser not in self.spec.optimisers:
            raise SettingError(
                f"server_optimiser={self.server_optimiser}", f"must be one of {', '.join(self.spec.optimisers)}"
            )

    def check_people(self, people: int) -> None:
        """Refuse people who do not fit the method (ValueError)."""

    @property
    def mu(self) -> float:
        """Weight of FedProx's term (Li et al. 2020, https://arxiv.org/abs/1812.06127), 0 of a method without it."""
        return float(getattr(self, "proximal_mu", 0.0))

    @property
    def answers(self) -> int:
        """Number of updates that a device agrees to."""
        return math.ceil(self.rounds * self.fraction)

    def task(self, collection: str, facts: PublicFacts, training: TrainingSettings, budget: Budget) -> Task:
        """Return the task of the devices."""
        return Task(collection, self.spec.sees, facts.d, training.hidden, facts.classes, float(training.lr),
                    self.local_steps, scaling=self.scaling)  # fmt: skip

    def notes(self, people: int, budget: Budget) -> dict[str, float]:
        """Return figures for the part ``federated`` of the result, where ``people`` devices train."""
        return {}

    def guarantee_of_training(
        self, facts: PublicFacts, budget: Budget, *, people: int, models: int, answers: int, loss: Loss
    ) -> Guarantee:
        """Return the guarantee of a training.

        Args:
            facts: The public facts.
            budget: The budget.
            people: Number of devices that train.
            models: Number of models that were made of updates.
            answers: Largest number of updates of a device.
            loss: Loss of an update, by the ledgers.
        """
        return self.guarantee(facts, (), budget)

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return a guarantee of nothing: training has no noise."""
        claim = "raw data stay on the device; no figure is claimed"
        return replace(open_guarantee(self.spec.uses, trust=self.spec.trust, statement=claim, detail=self.spec.seen),
                       why_they_differ=(_LEAK,))  # fmt: skip


@dataclass(frozen=True)
class FedAvgMLP(Federated):
    """FedAvg (McMahan et al. 2017, https://arxiv.org/abs/1602.05629) of a perceptron on each device's own record."""

    spec = replace(
        Federated.spec, name="fedavg-mlp", paper=_FEDAVG, default_gnn="mlp", training_defaults={"hidden": 16, "lr": 0.3}
    )  # fmt: skip


@dataclass(frozen=True)
class FedProx(FedAvgMLP):
    """FedAvg-MLP with FedProx's proximal term (https://arxiv.org/abs/1812.06127).

    Args:
        proximal_mu: Weight of the term.
    """

    proximal_mu: float = parameter(0.1, POSITIVE)

    spec = replace(FedAvgMLP.spec, name="fedprox", paper=FEDPROX, optimisers=("average",))  # Flower's has no other


@dataclass(frozen=True)
class Isolate(FedAvgMLP):
    """Every training device trains alone and sends nothing; the result is the mean score of their networks."""

    rounds: int = unused(1)
    fraction: float = unused(1.0)
    local_steps: int = parameter(50, STEPS)
    server_optimiser: str = unused("average")
    server_lr: float = unused(0.01)
    dropping: float = unused(0.0)
    evaluate_every: int = unused(0)

    spec = replace(
        FedAvgMLP.spec, name="isolate", options=o.SPLIT, paper="reference: no party talks to another",
        trained_by="alone", trust="untrusted curator",
    )  # fmt: skip

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return that nothing leaves a device."""
        nothing = Level("not asked", reason="nothing leaves the device")
        return Guarantee(self.spec.trust, Claim("nothing leaves the device", None), dict.fromkeys(LEVELS, nothing))


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


@dataclass(frozen=True)
class FedGCN(Federated):
    """FedGCN (Yao et al. 2023, https://arxiv.org/abs/2201.12433) with one person a device.

    The neighbours' sums are exchanged once, before training.
    """

    spec = replace(
        Federated.spec, name="fedgcn", paper="Yao, Jin, Ravi, Joe-Wong, FedGCN: Convergence-Communication Tradeoffs",
        sees="sums", uses=("adjacency", "features", "label"), training_defaults={"hidden": 16, "lr": 0.5},
    )  # fmt: skip


@dataclass(frozen=True)
class FedNova(FedAvgMLP):
    """FedNova (Wang et al. 2020, https://arxiv.org/abs/2007.07481) of a perceptron on each device's own record.

    In each round a device takes ``least_steps`` to ``local_steps`` gradient steps, drawn uniformly, as slow and fast
    devices would in the same time. The server divides an update by its number of steps, and multiplies the mean by the
    mean number. Where all numbers are equal this is FedAvg.

    Args:
        least_steps: Smallest number of gradient steps of an answer; the largest one is ``local_steps``.
        normalised: Whether updates are divided by their number of steps; false: FedAvg of the same updates.

    Raises:
        ValueError: for a parameter outside its range.
    """

    least_steps: int = parameter(1, STEPS)
    normalised: bool = True

    spec = replace(
        FedAvgMLP.spec, name="fednova", paper="Wang et al., Tackling the Objective Inconsistency Problem (FedNova)",
        strategy="fednova", optimisers=("average",),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.least_steps > self.local_steps:
            raise SettingError(f"least_steps={self.least_steps}", f"must be 1..{self.local_steps}")


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
