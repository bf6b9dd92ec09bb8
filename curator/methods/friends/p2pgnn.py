"""p2pGNN (Krasanakis et al., IEEE Access 2022): a public predictor, and diffusion over friends without a server.

The variant with a *pretrained* predictor, a perceptron. People with a public label, or volunteers, give label and
features in clear. A perceptron is trained on them and published. Every device evaluates it on its own features, and
exchanges the prediction with its friends (:mod:`ldpsim.devices.friends.diffusion`). No other report is asked for.

**Friends and the carrier of their messages are trusted.** Each message is in clear. It depends on the device's own
person and on people several friendships away, and a friend receives it again in later rounds, with other values.

Width, optimiser, stop, restart, rates and 1,000 rounds are those of the public code (MKLab-ITI/decentralized-gnn).
Differences:

- The public code's perceptron has dropout of its inputs too, and no biases.
- A device knows its number of friends d_u; the public code counts those from whom a message came.
- A device's own last value is part of its sum, as in the public code's centralised form; the devices there add their
  first value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ldpsim.curator import options as o
from ldpsim.curator.methods.base import Budget, Method, MethodSpec, Question
from ldpsim.curator.methods.parameters import FRACTION, SHARE, parameter, whole
from ldpsim.curator.privacy.guarantee import Claim, Guarantee
from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.devices.facts import PublicFacts

PATIENCE = 100  # epochs without a smaller validation loss
_TRAINING: dict[str, Any] = {
    "hidden": 64, "lr": 0.01, "weight_decay": 5e-4, "gnn_dropout": 0.5, "epochs": 2000, "selection": "loss",
}  # fmt: skip


@dataclass(frozen=True)
class P2PGNN(Method):
    """p2pGNN with a pretrained predictor.

    Args:
        rounds: Number of rounds of exchanges.
        most_rate: Largest chance that two friends meet in a round.
        restart: Share of a device's own prediction in each update, 1 - a.

    Raises:
        ValueError: for a parameter outside its range.
    """

    rounds: int = parameter(1000, whole(1))
    most_rate: float = parameter(0.1, FRACTION)
    restart: float = parameter(0.1, SHARE)

    spec = MethodSpec(
        name="p2pgnn", paper="Krasanakis, Papadopoulos, Kompatsiaris, p2pGNN: A Decentralized Graph Neural Network",
        trusts="friends", trained_by="friends", options=o.SPLIT, default_gnn="mlp", training_defaults=_TRAINING,
        networks=("mlp",),
    )  # fmt: skip

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return that nobody is asked; no level is about what friends and the carrier learn."""
        nothing = Level(
            "not asked",
            reason="no report reaches the curator; friends learn values in clear, and the carrier who writes to whom",
        )
        claim = Claim("no report reaches a server; no figure is claimed", None)
        return Guarantee(self.spec.trust, claim, dict.fromkeys(LEVELS, nothing))
