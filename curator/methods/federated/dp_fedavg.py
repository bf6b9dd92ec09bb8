"""DP-FedAvg: FedAvg whose server adds Gaussian noise to the mean of clipped updates.

McMahan et al. 2018, https://arxiv.org/abs/1710.06963. With the updates u_i = y_i - x of the sampled devices S, the
clipping norm C and the noise multiplier z:

    x <- x + (sum over S of u_i min(1, C / |u_i|)) / |S| + N(0, (z C / |S|)^2 I)

The models are private, at the loss that :mod:`ldpsim.curator.privacy.federated` computes; the server sees every update
in clear. ``clipping=adaptive`` lets C follow a quantile of the norms (Andrew et al. 2021).

``noise=distributed`` trusts the sum in place of the server. Devices clip their own update, and add N(0, z^2 C^2 / h) to
it, so that the shares of h of them are the noise above. A party that adds shows the server the sum of a round alone
(:mod:`ldpsim.devices.federated.update_adder`). The server knows whom it asks, so no draw of devices amplifies the
privacy: devices take turns, and the updates of one of them are together one Gaussian mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ldpsim.curator.methods.base import Budget, Question
from ldpsim.curator.methods.federated.federated import ROUNDS, FederatedSpec
from ldpsim.curator.methods.federated.private import DELTA, PrivateFedAvg
from ldpsim.curator.methods.parameters import FRACTION, NUMBER, POSITIVE, one_of, parameter
from ldpsim.curator.owner.privacy.account import small_delta
from ldpsim.curator.privacy.federated import (
    Rounds,
    central_epsilon,
    noise_multiplier_for,
    poisson_epsilon,
)
from ldpsim.curator.privacy.guarantee import Claim, Guarantee
from ldpsim.curator.privacy.honest import REASON, HonestContributors
from ldpsim.curator.privacy.level import REPLACED, VOLUNTEERS, Level
from ldpsim.curator.privacy.levels import by_attribute
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.mechanisms.noisy_steps import UNIT
from ldpsim.devices.training_task import STEPS, GaussianUpdate, Task

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainingSettings

SERVER, DISTRIBUTED = "server", "distributed"


@dataclass(frozen=True)
class DPFedAvg(PrivateFedAvg):
    """DP-FedAvg (McMahan et al. 2018, https://arxiv.org/abs/1710.06963) of a perceptron.

    The server clips every update and adds Gaussian noise to their mean (Flower's wrapper). It sees
    every update in clear; private are the models that it sends out. ``--epsilon`` holds for them
    (one device's record replaced) and determines the noise multiplier, unless
    ``noise_multiplier`` is set.

    Args:
        clip: Largest L2 norm of an update; the initial one for adaptive clipping.
        clipping: ``fixed``, or ``adaptive`` (Andrew et al. 2021).
        noise_multiplier: Noise deviation divided by clip / sampled devices; 0: from --epsilon.
        delta: Delta of the guarantee; 0: the largest power of ten below 1 / training devices.
        noise: Who adds it: the ``server``, or every device a share of it (``distributed``), so that a party that adds
            is trusted in place of the server.
        honest: Share of the devices of a round for whom epsilon is stated: h is this share.

    Raises:
        ValueError: for a parameter outside its range, or an evaluation: people's raw answers would choose the model.
    """

    rounds: int = parameter(30, ROUNDS)
    clip: float = parameter(1.0, POSITIVE)
    clipping: str = parameter("fixed", one_of("fixed", "adaptive"))
    noise_multiplier: float = parameter(0.0, NUMBER)
    delta: float = parameter(0.0, DELTA)
    noise: str = parameter(SERVER, one_of(SERVER, DISTRIBUTED), hashed="unless default")
    honest: float = parameter(0.9, FRACTION, hashed="unless default", noise=(DISTRIBUTED,))

    spec = replace(
        PrivateFedAvg.spec, name="dp-fedavg", strategy="dp_fedavg",
        paper="McMahan et al., Learning Differentially Private Recurrent Language Models (DP-FedAvg)",
        mechanisms=("gaussian",), options=PrivateFedAvg.spec.options | {"epsilon"}, private=("features", "label"),
    )  # fmt: skip
    central_noise = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.distributed and self.clipping != "fixed":
            raise SettingError(f"clipping={self.clipping}", "counts clipped updates, which a sum does not show")

    def effective_spec(self) -> FederatedSpec:
        """As :meth:`~ldpsim.curator.methods.base.Method.effective_spec`; a noise multiplier replaces epsilon."""
        spec = self.spec
        if self.distributed:
            spec = replace(spec, trust="untrusted curator", trusts="sum", mechanisms=("gaussian_update",))
        return replace(spec, options=spec.options - {"epsilon"}) if self.noise_multiplier else spec

    @property
    def distributed(self) -> bool:
        """Whether every device adds a share of the noise."""
        return self.noise == DISTRIBUTED

    @property
    def takes_turns(self) -> bool:
        """As :attr:`~ldpsim.curator.methods.federated.federated.Federated.takes_turns`: where the sum is trusted."""
        return self.distributed

    def least_honest(self, people: int) -> int:
        """Return h: of the devices of the smallest round, with ``people`` training devices."""
        return max(1, math.floor(self.honest * (people // self.turns) + 1e-9))

    def rounds_of(self, people: int) -> Rounds:
        """Return the accountant's view of the rounds with ``people`` training devices; of a sum, of those of one."""
        sample = people if self.distributed else max(1, round(self.fraction * people))
        rounds = self.answers if self.distributed else self.rounds
        return Rounds(rounds=rounds, people=people, sample=sample, delta=self.delta or small_delta(people))

    def task(
        self, collection: str, facts: PublicFacts, training: TrainingSettings, budget: Budget, people: int
    ) -> Task:
        """As :meth:`~ldpsim.curator.methods.federated.federated.Federated.task`, with a share of the noise."""
        task = super().task(collection, facts, training, budget, people)
        return replace(task, noise=self.share(facts, budget, people)) if self.distributed else task

    def share(self, facts: PublicFacts, budget: Budget, people: int) -> GaussianUpdate:
        """Return what a device does to its update: h shares of the noise have the deviation z C together."""
        deviation = self.multiplier(people, budget) * STEPS / math.sqrt(self.least_honest(people))
        delta = self.delta or small_delta(facts.n)  # at which a ledger has the loss of one update
        return GaussianUpdate(self.clip, math.ceil(deviation * UNIT * (1 + 1e-12)), delta)

    def multiplier(self, people: int, budget: Budget) -> float:
        """Return the noise multiplier in force."""
        return self.noise_multiplier or noise_multiplier_for(self.rounds_of(people), budget.epsilon)

    def notes(self, people: int, budget: Budget) -> dict[str, float]:
        """Return the noise multiplier in force."""
        return {"noise_multiplier": self.multiplier(people, budget)}

    def guarantee_of_training(
        self, facts: PublicFacts, budget: Budget, *, people: int, models: int, answers: int, loss: Loss
    ) -> Guarantee:
        """As :meth:`guarantee_after` so many models, or :meth:`guarantee_of_sums` with so many answers of a device."""
        multiplier = self.multiplier(people, budget)
        if self.distributed:
            return self.guarantee_of_sums(people, answers, multiplier)
        return self.guarantee_after(people, models, multiplier)

    def guarantee_of_sums(self, people: int, answers: int, multiplier: float) -> Guarantee:
        """Return what holds towards a server that sees sums, in ``answers`` of which a device takes part."""
        training = replace(self.rounds_of(people), rounds=answers)
        honest = self.least_honest(people)
        at = HonestContributors.of(
            honest, lambda number: central_epsilon(training, multiplier * math.sqrt(number / honest))
        )
        left_out = (VOLUNTEERS,) if self.starts_from_volunteers else ()
        whole = Level(
            "bounded", at.epsilon, training.delta, kind="bound", counted=("features", "label"), not_counted=left_out,
            reason=REASON + "under its own share of the noise", figures=at.figures,
        )  # fmt: skip
        unseen = Level("not asked", reason="nobody's raw data reach the curator")
        of = {"adjacency": Level("not asked"), "features": whole, "label": whole}
        reasons = (
            f"a person's record is replaced; {answers} updates of a device are together one Gaussian mechanism, and "
            "as the server knows whom it asks, no draw of devices amplifies the privacy",
            at.sentence,
            "the party that adds is trusted: it sees every update under one share of the noise, at the loss that a "
            "device's ledger has, and shows no sum of fewer than h updates",
            "figures are those of Gaussian noise in real numbers; shares are rounded to a grid, and their sum is not "
            "exactly Gaussian",
        )
        statement = f"({at.epsilon:.4g}, {training.delta:g})-DP of the sums, for all updates of a device"
        levels = by_attribute(of, several=whole, owned=unseen)
        return Guarantee(self.effective_spec().trust, Claim(statement, at.epsilon), levels, reasons)

    def guarantee_after(self, people: int, rounds: int, multiplier: float) -> Guarantee:
        """Return the guarantee after the rounds that really ran."""
        training = Rounds(**{**vars(self.rounds_of(people)), "rounds": rounds})
        holds, printed = central_epsilon(training, multiplier), poisson_epsilon(training, multiplier)
        figures = {"rounds": rounds, "people": people}
        if training.sample == people:
            how = "all of them asked in every round: together one Gaussian mechanism, exactly"
        else:
            how = "{drawn} drawn a round: a bound by Rényi divergences, or without the draw where that is less"
            figures["drawn"] = training.sample
        reason = (
            f"the models after {{rounds}} rounds of {{people}} training devices ({how}); "
            "the server itself sees every update in clear"
        )
        seen = Level("unprotected", reason="the server sees every update in clear, before it adds noise")
        unused = Level("not asked")
        of = {"adjacency": unused, "features": seen, "label": seen}
        levels = by_attribute(of, several=seen, owned=Level(
            "bounded", holds, training.delta, kind="exact" if training.sample == people else "bound", relation=REPLACED,
            reason=reason, figures=figures,
        ))  # fmt: skip
        reasons = (
            f"claimed as usual: a person is added or removed, and each is drawn with probability {training.rate:g} "
            "independently (Poisson); what is run draws a fixed number of devices, so two data sets differ in a "
            "replaced device and the mean moves by twice the clipping norm",
            "Flower adds noise in floating point from numpy's generator, not on a grid: figures are for real numbers",
        )
        statement = f"({printed:.4g}, {training.delta:g})-DP for a device, central (dp-accounting)"
        return Guarantee(self.spec.trust, Claim(statement, printed), levels, reasons)

    def gaussian_composition(self, facts: PublicFacts, budget: Budget) -> tuple[float, float, int] | None:
        """(shift, sigma, times): how far a replaced device moves a round's mean, its noise, and the rounds.

        None where the server draws some of the devices: the rounds are then no Gaussian mechanism.
        """
        people = max(2, facts.n // 2)
        if self.distributed:
            return 2.0, self.multiplier(people, budget), self.answers
        sample = self.rounds_of(people).sample
        if sample < people:
            return None
        return 2 * self.clip / sample, self.multiplier(people, budget) * self.clip / sample, self.rounds

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """As :meth:`guarantee_after` all rounds, where half of the people train."""
        people = max(2, facts.n // 2)
        multiplier = self.multiplier(people, budget)
        if self.distributed:
            return self.guarantee_of_sums(people, self.answers * collections, multiplier)
        return self.guarantee_after(people, self.rounds * collections, multiplier)
