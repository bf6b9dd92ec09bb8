"""SCAFFOLD: local steps that are corrected by the difference of two control variates.

Paper: Karimireddy et al. 2020, https://arxiv.org/abs/1910.06378, algorithm 1, option II, global step size 1.
The server's control variate c goes out with the weights x. A device answers with its weights y_i after K local steps of
learning rate lr. The change of its own control variate, c_i+ - c_i = (x - y_i) / (K lr) - c, follows from y_i and from
what it was sent. So it needs no second message: with the mean y of the answers of S of all N devices

    x+ = y,        c+ = c + |S| / N ((x - y) / (K lr) - c).

Devices keep nothing between rounds (:mod:`ldpsim.devices.federated.local_steps`): c_i travels with the update and
comes back with the next question, and this strategy holds it for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg

from ldpsim.curator.methods.federated.fedavg import Federated
from ldpsim.devices.federated.wire import WEIGHTS, record_of, round_content, take_others, weights_record
from ldpsim.devices.network import FloatArray, usable
from ldpsim.strategies.federated.fedavg import EVERYBODY
from ldpsim.strategies.federated.making import TrainingPlan
from ldpsim.strategies.rounds.server_state import ServerState


def make(method: Federated, plan: TrainingPlan) -> Scaffold:
    """Return the strategy of a training."""
    return Scaffold(plan.people, plan.task.steps * plan.task.lr)


class Scaffold(FedAvg):
    """FedAvg with control variates.

    Args:
        people: Number of devices that train, N.
        reach: Number of local steps times their learning rate, K lr.
    """

    def __init__(self, people: int, reach: float) -> None:
        super().__init__(**EVERYBODY)
        self.people, self.reach = people, reach
        self.control: FloatArray | None = None
        self.variates: dict[int, ArrayRecord] = {}

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return a message to every node: the weights, c, and the node's own control variate."""
        config["server-round"] = server_round
        self.sent = arrays[WEIGHTS].numpy()
        if self.control is None:
            self.control = np.zeros_like(self.sent)
        control = weights_record(self.control)
        return [
            Message(round_content(arrays, config, self.variates.get(node), control), node, MessageType.TRAIN)
            for node in grid.get_node_ids()
        ]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Average the updates; move c; keep the control variates of the devices that answered."""
        heard = list(replies)
        variates = {reply.metadata.src_node_id: take_others(reply) for reply in heard}
        arrays, metrics = super().aggregate_train(server_round, heard)
        if arrays is not None and self.control is not None:
            mean = (self.sent - arrays[WEIGHTS].numpy()) / self.reach
            moved = self.control + len(heard) / self.people * (mean - self.control)
            self.control = usable(moved.astype(self.sent.dtype))
            self.variates |= variates
        return arrays, metrics

    def state(self) -> ServerState:
        """Return c and the devices' control variates; nothing before the first round."""
        if self.control is None:
            return {}
        nodes = sorted(self.variates)
        variates = np.array([self.variates[node]["variate"].numpy() for node in nodes])
        return {"control": self.control, "nodes": np.array(nodes, np.int64), "variates": variates}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Read :meth:`state` back."""
        self.control = state["control"]
        self.variates = {
            node: record_of(variate=own) for node, own in zip(state["nodes"].tolist(), state["variates"], strict=True)
        }
