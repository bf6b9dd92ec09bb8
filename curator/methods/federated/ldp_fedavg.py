"""LDP-FedAvg: FedAvg of updates that each device clips, and makes private by Gaussian noise before it sends them.

Device i sends u_i min(1, C / |u_i|) + N(0, s^2 I), with u_i = y_i - x and C the clipping norm. s is the smallest
deviation for which one report is (epsilon, delta)-private (Balle and Wang 2018, https://arxiv.org/abs/1805.06530), as
two clipped updates are 2 C apart at most. The server takes the mean (:mod:`ldpsim.curator.methods.federated.fedavg`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ldpsim.curator.methods.base import Budget, Question
from ldpsim.curator.methods.federated.federated import ROUNDS
from ldpsim.curator.methods.federated.private import DELTA, PrivateFedAvg
from ldpsim.curator.methods.parameters import FRACTION, POSITIVE, parameter
from ldpsim.curator.owner.privacy.account import small_delta
from ldpsim.curator.privacy.federated import (
    updates_epsilon,
)
from ldpsim.curator.privacy.guarantee import Claim, Guarantee
from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import by_attribute
from ldpsim.curator.shown import shown_loss
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import gaussian
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.training_task import GaussianUpdate, Task

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainingSettings


@dataclass(frozen=True)
class LDPFedAvg(PrivateFedAvg):
    """FedAvg-MLP whose devices clip their update and add Gaussian noise before they send it.

    The noise is that of the analytic Gaussian mechanism (Balle and Wang 2018,
    https://arxiv.org/abs/1805.06530). ``--epsilon`` and ``delta`` are divided among the answers of
    one device: the parts add up to them. Its ledger and its policy count by that sum, which is an
    upper bound. Together the answers lose less, exactly as much as one Gaussian mechanism, and that
    is the guarantee. Devices take turns: each takes part in rounds * fraction rounds and refuses more.

    Args:
        clip: Largest L2 norm of an update.
        delta: Delta of all answers of a device together; 0: the largest power of ten below 1 / n.

    Raises:
        ValueError: for a parameter outside its range.
    """

    rounds: int = parameter(10, ROUNDS)
    fraction: float = parameter(0.2, FRACTION)
    clip: float = parameter(1.0, POSITIVE)
    delta: float = parameter(0.0, DELTA)

    spec = replace(
        PrivateFedAvg.spec, name="ldp-fedavg",
        paper="FedAvg with local noise on the update (analytic Gaussian, Balle and Wang 2018)",
        trust="untrusted curator", private=("features", "label"), mechanisms=("gaussian_update",),
        options=PrivateFedAvg.spec.options | {"epsilon"},
    )  # fmt: skip

    @property
    def takes_turns(self) -> bool:
        """As :attr:`~ldpsim.curator.methods.federated.federated.Federated.takes_turns`."""
        return True

    def each(self, facts: PublicFacts, budget: Budget) -> tuple[float, float]:
        """Return epsilon and delta of one answer."""
        return budget.epsilon / self.answers, (self.delta or small_delta(facts.n)) / self.answers

    def task(
        self, collection: str, facts: PublicFacts, training: TrainingSettings, budget: Budget, people: int
    ) -> Task:
        """As :meth:`~ldpsim.curator.methods.federated.federated.Federated.task`, with noise on each answer."""
        epsilon, delta = self.each(facts, budget)
        noise = GaussianUpdate.from_epsilon(epsilon, clip=self.clip, delta=delta)
        return replace(super().task(collection, facts, training, budget, people), noise=noise)

    def guarantee_of_training(
        self, facts: PublicFacts, budget: Budget, *, people: int, models: int, answers: int, loss: Loss
    ) -> Guarantee:
        """As :meth:`guarantee_of` the answers of the device that gave most."""
        return self.guarantee_of(loss.vector, loss.delta, answers, budget.epsilon)

    def gaussian_composition(self, facts: PublicFacts, budget: Budget) -> tuple[float, float, int]:
        """(shift, sigma, times): how far another record moves a device's update, its noise, and the updates."""
        epsilon, delta = self.each(facts, budget)
        return 2 * self.clip, gaussian.calibrate(epsilon, delta, shift=2 * self.clip), self.answers

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return the loss of a device that takes part in every round of its turn."""
        epsilon, delta = self.each(facts, budget)
        return self.guarantee_of(epsilon, delta, self.answers * collections, budget.epsilon)

    def guarantee_of(self, epsilon: float, delta: float, answers: int, loss_sum: float) -> Guarantee:
        """Return the guarantee of ``answers`` answers: their exact composition, where their deltas add up."""
        total = updates_epsilon(answers, epsilon, delta)
        parts = "{updates} updates, each ({epsilon}, {delta}) for any change of the record"
        together = "together one Gaussian mechanism, exactly (Balle and Wang 2018; Dong, Roth and Su 2022)"
        whole = Level("bounded", total, answers * delta, kind="bound", reason=f"{parts}; {together}",
                      figures={"updates": answers, "epsilon": epsilon, "delta": delta})  # fmt: skip
        of = {"adjacency": Level("not asked"), "features": whole, "label": whole}
        unseen = Level("not asked", reason="nobody's raw data reach the curator")
        levels = by_attribute(of, several=whole, owned=unseen)
        claim = Claim(f"({shown_loss(loss_sum)}, {self.answers * delta:g})-LDP for all updates of a device", loss_sum)
        reason = (
            f"claimed is the sum of the updates' losses, by which ledgers and policies count; {answers} Gaussian "
            f"updates are one Gaussian mechanism: {shown_loss(total)} at the sum of their deltas, {answers * delta:g}"
        )
        return Guarantee(self.spec.trust, claim, levels, (reason,))
