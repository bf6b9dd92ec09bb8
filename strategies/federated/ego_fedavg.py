"""FedAvg for devices that see their neighbours: each round, the server forwards what neighbours sent.

A device of the task ``ego`` adds up one row of 2 x hidden floats from every neighbour
(:mod:`ldpsim.devices.federated.exchange`). In a device's first answer it lists its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg

from ldpsim.curator.methods.federated.fedavg import Federated
from ldpsim.devices.federated.exchange import read_representation
from ldpsim.devices.federated.wire import EXCHANGE_TYPE, WEIGHTS, record_of, round_content, take_others
from ldpsim.devices.network import FloatArray
from ldpsim.devices.training_task import Task
from ldpsim.strategies.federated.fedavg import EVERYBODY
from ldpsim.strategies.federated.making import TrainingPlan
from ldpsim.strategies.rounds.server_state import ServerState
from ldpsim.strategies.rounds.training_grid import TrainingGrid


def make(method: Federated, plan: TrainingPlan) -> EgoFedAvg:
    """Return the strategy of a training in which every device takes part."""
    return EgoFedAvg(plan.nodes, plan.task)


class EgoFedAvg(FedAvg):
    """FedAvg with one more entry in each message: the rows that the device's neighbours sent a round before.

    Every device sends its representation in every round. The training devices also send an
    update.

    Args:
        everybody: All nodes.
        task: The task.
    """

    def __init__(self, everybody: Iterable[int], task: Task) -> None:
        super().__init__(**EVERYBODY)
        self.everybody, self.task = list(everybody), task
        self.neighbours: dict[int, list[int]] = {}
        self.sent: dict[int, FloatArray] = {}

    def subscribe(self, grid: TrainingGrid, arrays: ArrayRecord) -> None:
        """Ask every device once for its neighbours and its first representation."""
        config = ConfigRecord({"task": self.task.to_bytes()})
        content = round_content(arrays, config)
        messages = [Message(content, node, EXCHANGE_TYPE) for node in self.everybody]
        self._keep(grid.exchange(messages, "subscription"), arrays[WEIGHTS].dtype)

    def own(self, node: int, dtype: str) -> ArrayRecord | None:
        """Return the rows that a node's neighbours sent, zeros for a silent one.

        A node that was not heard yet gets None: the device then tells its neighbours first. A
        node without neighbours gets no rows.
        """
        if node not in self.neighbours:
            return None
        nothing = np.zeros(2 * self.task.hidden, dtype)
        rows = [self.sent.get(neighbour, nothing) for neighbour in self.neighbours[node]]
        return record_of(rows=np.concatenate(rows) if rows else nothing[:0])

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return a message to every node: train, or send a representation."""
        config["server-round"] = server_round
        training, self._dtype = set(grid.get_node_ids()), arrays[WEIGHTS].dtype
        kinds = {node: MessageType.TRAIN if node in training else EXCHANGE_TYPE for node in self.everybody}
        return self._messages(arrays, config, kinds)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return evaluation messages with the neighbours' rows."""
        config["server-round"] = server_round
        return self._messages(arrays, config, dict.fromkeys(grid.get_node_ids(), MessageType.EVALUATE))

    def _messages(self, arrays: ArrayRecord, config: ConfigRecord, kinds: Mapping[int, str]) -> list[Message]:
        """Return a message of its kind to each node, with the rows of the node's neighbours."""
        rows = {node: self.own(node, arrays[WEIGHTS].dtype) for node in kinds}
        return [Message(round_content(arrays, config, rows[node]), node, kind) for node, kind in kinds.items()]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Keep the representations, average the updates."""
        heard = list(replies)
        self._keep(heard, self._dtype)
        return super().aggregate_train(server_round, [reply for reply in heard if "arrays" in reply.content])

    def state(self) -> ServerState:
        """Return the rows and neighbours received so far, as arrays."""
        listed = [self.neighbours[node] for node in sorted(self.neighbours)]
        return {
            "senders": np.array(sorted(self.sent), np.int64),
            "sent": np.array([self.sent[node] for node in sorted(self.sent)]),
            "listers": np.array(sorted(self.neighbours), np.int64),
            "ends": np.cumsum([len(each) for each in listed], dtype=np.int64),
            "listed": np.array([node for each in listed for node in each], np.int64),
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Read :meth:`state` back."""
        self.sent = dict(zip(state["senders"].tolist(), state["sent"], strict=True))
        lists = [part.tolist() for part in np.split(state["listed"], state["ends"][:-1])]
        self.neighbours = dict(zip(state["listers"].tolist(), lists, strict=False))

    def _keep(self, replies: Iterable[Message], dtype: str) -> None:
        """Keep the representations, and the neighbours where a device lists them."""
        known = set(self.everybody)
        for reply in replies:
            neighbours, values = read_representation(take_others(reply), self.task, dtype)
            node = reply.metadata.src_node_id
            self.sent[node] = values
            if neighbours is not None:
                self.neighbours[node] = [other + 1 for other in neighbours.tolist() if other + 1 in known]
