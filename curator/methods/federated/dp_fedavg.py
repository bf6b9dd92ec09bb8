"""DP-FedAvg: FedAvg whose server adds Gaussian noise to the mean of clipped updates.

McMahan et al. 2018, https://arxiv.org/abs/1710.06963. With the updates u_i = y_i - x of the sampled devices S, the
clipping norm C and the noise multiplier z:

    x <- x + (sum over S of u_i min(1, C / |u_i|)) / |S| + N(0, (z C / |S|)^2 I)

The models are private, at the loss that :mod:`ldpsim.curator.privacy.federated` computes; the server sees every update
in clear. ``clipping=adaptive`` lets C follow a quantile of the norms (Andrew et al. 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ldpsim.curator.methods.base import Budget, Question
from ldpsim.curator.methods.federated.fedavg import FedAvgMLP
from ldpsim.curator.methods.federated.federated import ROUNDS, FederatedSpec
from ldpsim.curator.methods.federated.private import DELTA, check_evaluation
from ldpsim.curator.methods.parameters import NUMBER, POSITIVE, one_of, parameter
from ldpsim.curator.owner.privacy.account import small_delta
from ldpsim.curator.privacy.federated import (
    Rounds,
    central_epsilon,
    noise_multiplier_for,
    poisson_epsilon,
)
from ldpsim.curator.privacy.guarantee import Claim, Guarantee
from ldpsim.curator.privacy.level import REPLACED, Level
from ldpsim.curator.privacy.levels import by_attribute
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.exact_loss import Loss


@dataclass(frozen=True)
class DPFedAvg(FedAvgMLP):
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

    Raises:
        ValueError: for a parameter outside its range, or an evaluation: people's raw answers would choose the model.
    """

    rounds: int = parameter(30, ROUNDS)
    clip: float = parameter(1.0, POSITIVE)
    clipping: str = parameter("fixed", one_of("fixed", "adaptive"))
    noise_multiplier: float = parameter(0.0, NUMBER)
    delta: float = parameter(0.0, DELTA)

    spec = replace(
        FedAvgMLP.spec, name="dp-fedavg", strategy="dp_fedavg", central_noise=True,
        paper="McMahan et al., Learning Differentially Private Recurrent Language Models (DP-FedAvg)",
        mechanisms=("gaussian",), options=FedAvgMLP.spec.options | {"epsilon"}, private=("features", "label"),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        check_evaluation(self)

    def effective_spec(self) -> FederatedSpec:
        """As :meth:`~ldpsim.curator.methods.base.Method.effective_spec`; a noise multiplier replaces epsilon."""
        spec = self.spec
        return replace(spec, options=spec.options - {"epsilon"}) if self.noise_multiplier else spec

    def rounds_of(self, people: int) -> Rounds:
        """Return the accountant's view of the rounds with ``people`` training devices."""
        sample = max(1, round(self.fraction * people))
        return Rounds(rounds=self.rounds, people=people, sample=sample, delta=self.delta or small_delta(people))

    def multiplier(self, people: int, budget: Budget) -> float:
        """Return the noise multiplier in force."""
        return self.noise_multiplier or noise_multiplier_for(self.rounds_of(people), budget.epsilon)

    def notes(self, people: int, budget: Budget) -> dict[str, float]:
        """Return the noise multiplier in force."""
        return {"noise_multiplier": self.multiplier(people, budget)}

    def guarantee_of_training(
        self, facts: PublicFacts, budget: Budget, *, people: int, models: int, answers: int, loss: Loss
    ) -> Guarantee:
        """As :meth:`guarantee_after` so many models."""
        return self.guarantee_after(people, models, self.multiplier(people, budget))

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

    def gaussian_composition(self, facts: PublicFacts, budget: Budget) -> tuple[float, float, int]:
        """(shift, sigma, times): how far a replaced device moves a round's mean, its noise, and the rounds."""
        people = max(2, facts.n // 2)
        sample = self.rounds_of(people).sample
        return 2 * self.clip / sample, self.multiplier(people, budget) * self.clip / sample, self.rounds

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """As :meth:`guarantee_after` all rounds, where half of the people train."""
        people = max(2, facts.n // 2)
        return self.guarantee_after(people, self.rounds * collections, self.multiplier(people, budget))
