"""Isolate: every training device trains a perceptron alone, and sends nothing. The reference of federated methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ldpsim.curator import options as o
from ldpsim.curator.methods.base import Budget, Question
from ldpsim.curator.methods.federated.fedavg import FedAvgMLP
from ldpsim.curator.methods.federated.federated import STEPS
from ldpsim.curator.methods.parameters import parameter, unused
from ldpsim.curator.privacy.guarantee import Claim, Guarantee
from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.devices.facts import PublicFacts


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
