"""Parts that trainings under differential privacy share: delta, turns, no evaluation, and a start from volunteers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ldpsim.curator.methods.federated.fedavg import FedAvgMLP
from ldpsim.curator.methods.parameters import between, one_of, parameter
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.facts import IntArray, Split

DELTA = between(0, 1)  # 0: the rule
RANDOM, VOLUNTEERS = "random", "volunteers"


@dataclass(frozen=True)
class PrivateFedAvg(FedAvgMLP):
    """FedAvg-MLP under noise.

    Args:
        start: Weights before the first round: ``random``, or those of a network that is trained on ``volunteers``
            (``--volunteers``), whose labels and features are public. Then the other people who know their label
            train, volunteers choose the round that is kept, and devices also use the model of volunteers and know the
            volunteers among their friends.

    Raises:
        ValueError: for a parameter outside its range, an evaluation, or turns whose number is not whole.
    """

    start: str = parameter(RANDOM, one_of(RANDOM, VOLUNTEERS), hashed="unless default")

    def __post_init__(self) -> None:
        """Refuse uneven turns, and evaluations: the replies choose the model, and no noise is on them (ValueError)."""
        super().__post_init__()
        if self.evaluate_every:
            raise SettingError(f"evaluate_every={self.evaluate_every}", "an evaluation reveals a device's label")
        if self.takes_turns and abs(1 / self.fraction - self.turns) > 1e-9:
            raise SettingError(f"fraction={self.fraction:g}", "devices take turns; it must be 1 / a whole number")

    @property
    def answers(self) -> int:
        """As :attr:`~ldpsim.curator.methods.federated.federated.Federated.answers`."""
        return math.ceil(self.rounds / self.turns) if self.takes_turns else super().answers

    @property
    def starts_from_volunteers(self) -> bool:
        """Whether volunteers give the first weights."""
        return self.start == VOLUNTEERS

    def learners(self, split: Split) -> IntArray:
        """As :meth:`~ldpsim.curator.methods.federated.federated.Federated.learners`; no volunteer beside a start."""
        if not self.starts_from_volunteers:
            return super().learners(split)
        if not len(split.ordinary):
            raise SettingError(f"start={VOLUNTEERS}", "needs --volunteers, and other people who know their label")
        return split.ordinary
