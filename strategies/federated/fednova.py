"""FedNova: updates are divided by their number of local steps before they are averaged.

Paper: Wang et al. 2020, https://arxiv.org/abs/2007.07481, for plain gradient steps. The server tells each device of a
round its number of steps t_i, drawn from the seed, the round and the node alone. With the answers y_i of S devices

    x+ = x + t mean_i (y_i - x) / t_i,        t = mean_i t_i.

The mean of the updates themselves, as in FedAvg, would favour the devices that take more steps. The strategy carries
nothing from one round to the next.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg

from ldpsim.curator.methods.federated.fednova import FedNova
from ldpsim.devices.federated.wire import STEPS, WEIGHTS, round_content, weights_record
from ldpsim.strategies.federated.fedavg import EVERYBODY
from ldpsim.strategies.federated.making import TrainingPlan


def make(method: FedNova, plan: TrainingPlan) -> NormalisedAverage:
    """Return the strategy of a training."""
    return NormalisedAverage(method.least_steps, method.local_steps, plan.seed, normalised=method.normalised)


class NormalisedAverage(FedAvg):
    """FedAvg of devices that take unequal numbers of local steps.

    Args:
        least, most: Range of the number of steps.
        seed: Seed of the numbers.
        normalised: Whether updates are divided by their number of steps; False: FedAvg of them as they are.
    """

    def __init__(self, least: int, most: int, seed: int, *, normalised: bool = True) -> None:
        super().__init__(**EVERYBODY)
        self.least, self.most, self.seed, self.normalised = least, most, seed, normalised

    def steps(self, number: int, node: int) -> int:
        """Return a device's number of local steps in a round."""
        return int(np.random.default_rng([self.seed, number, node]).integers(self.least, self.most + 1))

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return a message to every node; those with the same number of steps share one record."""
        config["server-round"] = server_round
        self.sent = arrays[WEIGHTS].numpy()
        told = {steps: ConfigRecord({**config, STEPS: steps}) for steps in range(self.least, self.most + 1)}
        return [
            Message(round_content(arrays, told[self.steps(server_round, node)]), node, MessageType.TRAIN)
            for node in grid.get_node_ids()
        ]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Scale every update to the mean number of steps, and average."""
        heard = list(replies)
        steps = [self.steps(server_round, reply.metadata.src_node_id) for reply in heard]
        if self.normalised and len(set(steps)) > 1:
            mean = float(np.mean(steps))
            for reply, own in zip(heard, steps, strict=True):
                new = reply.content.array_records["arrays"][WEIGHTS].numpy()
                scaled = self.sent + mean / own * (new - self.sent)
                reply.content["arrays"] = weights_record(scaled.astype(new.dtype, copy=False))
        return super().aggregate_train(server_round, heard)
