"""The party that adds the updates of a round, each under its share of the noise, and shows the server their sum alone.

It is an ideal party, as that of a secure sum (:class:`ldpsim.devices.mechanisms.stacked_reports.RunningSum`). Shares
of the noise are sized for a least number h of contributors, so it shows no sum of fewer than h updates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from flwr.app import Message
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.federated.messages import AnswerGroup, RoundAnswers
from ldpsim.devices.federated.updates import Updates
from ldpsim.devices.mechanisms.stacked_reports import RunningSum
from ldpsim.devices.training_task import STEPS


@dataclass(frozen=True)
class UpdateAdder:
    """A party that adds updates.

    Args:
        clip: Clipping norm C of the updates, 2**20 steps of their grid.
        least_contributors: h, the smallest number of updates of which it shows the sum.
    """

    clip: float
    least_contributors: int

    def add(self, answers: Iterable[Message], sent: FloatArray) -> RoundAnswers:
        """Return one answer: the weights that were sent plus the mean update, for so many people.

        There is no answer where fewer than h people contributed.

        Args:
            answers: The answers of a round, with updates.
            sent: (size,): the weights that all of them started from.
        """
        group = RoundAnswers.of(answers).updates()
        if group is None or group.updates is None or len(group.nodes) < self.least_contributors:
            return RoundAnswers([])
        total, number = RunningSum(), len(group.nodes)
        for row in group.updates:
            total.add_up(self._steps(row, sent)[None])
        assert total.sum is not None
        mean = (sent + total.sum * (self.clip / STEPS / number)).astype(sent.dtype)
        node = group.nodes[:1]  # a message needs a node; that it was asked is known
        return RoundAnswers([AnswerGroup(group.group, node, np.array([number]), Updates.whole(mean[None]))])

    def _steps(self, row: FloatArray, sent: FloatArray) -> NDArray[np.int64]:
        return np.rint((row.astype(np.float64) - sent) * (STEPS / self.clip)).astype(np.int64)
