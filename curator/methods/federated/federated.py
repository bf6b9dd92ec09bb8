"""Base of the federated methods: their parameters, and the guarantee of a training without noise.

Nothing here trains. The rounds are Flower's (``strategies``), and the local steps run on
devices or in silos (``devices``).

With one person a device, FedAvg of a GCN has no edge to train on: a device's own node has
no neighbour on the device. ``fedavg-mlp`` is that method by its right name. Edges enter with
``fedavg-gnn`` and ``fedgcn`` (neighbours' values go through the server) or with silos.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from ldpsim.curator import options as o
from ldpsim.curator.methods.base import Budget, Method, MethodSpec, Question
from ldpsim.curator.methods.parameters import FRACTION, POSITIVE, between, one_of, parameter, whole
from ldpsim.curator.privacy.guarantee import Guarantee, open_guarantee
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.facts import MOST_LOCAL_STEPS, IntArray, PublicFacts, Split
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.training_task import Task

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainingSettings

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
        sees: View of a device or silo (``devices/training_task.py``).
        uses: Attributes that the training uses.
        exposure: Who sees what in clear.
    """

    strategy: str = "fedavg"
    optimisers: tuple[str, ...] = ("average", "adam")
    sees: str = "own"
    uses: tuple[str, ...] = ("features", "label")
    exposure: str = "the server sees every update in clear"


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
    central_noise: ClassVar[bool] = False  # whether the mean of the updates has noise
    vectors_down: ClassVar[int] = 1  # vectors of the weights' size that a device is sent in a round

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.server_optimiser not in self.spec.optimisers:
            raise SettingError(
                f"server_optimiser={self.server_optimiser}", f"must be one of {', '.join(self.spec.optimisers)}"
            )

    @property
    def mu(self) -> float:
        """Weight of FedProx's term (Li et al. 2020, https://arxiv.org/abs/1812.06127), 0 of a method without it."""
        return float(getattr(self, "proximal_mu", 0.0))

    @property
    def takes_turns(self) -> bool:
        """Whether a device takes part in every 1 / fraction-th round; otherwise each round draws its devices."""
        return False

    @property
    def turns(self) -> int:
        """Number of groups of devices, where they take turns."""
        return round(1 / self.fraction)

    @property
    def answers(self) -> int:
        """Number of updates that a device agrees to."""
        return math.ceil(self.rounds * self.fraction)

    def effective_spec(self) -> FederatedSpec:
        """As :meth:`~ldpsim.curator.methods.base.Method.effective_spec`."""
        return self.spec

    @property
    def starts_from_volunteers(self) -> bool:
        """Whether volunteers give the first weights, and choose the round that is kept."""
        return False

    def learners(self, split: Split) -> IntArray:
        """int64, sorted: the people whose devices train; ValueError for a division that does not fit."""
        return split.train

    def task(
        self, collection: str, facts: PublicFacts, training: TrainingSettings, budget: Budget, people: int
    ) -> Task:
        """Return the task of the devices, ``people`` of which train."""
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
        spec = self.spec
        opened = open_guarantee(spec.uses, trust=spec.trust, statement=claim, detail=spec.exposure)
        return replace(opened, why_they_differ=(_LEAK,))
