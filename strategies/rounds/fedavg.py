"""The FedAvg family on Flower's own strategies, and one of ours for devices with an ego net."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAdam, FedAvg, FedProx, Strategy

from curator.methods.federated.fedavg import Federated
from devices.federated.exchange import read_representation
from devices.federated.wire import EXCHANGE_TYPE, WEIGHTS, read_sender, round_content, weights_record
from devices.network import FloatArray
from strategies.rounds.training_grid import TrainingGrid

# Who is asked is the Grid's business (training_grid.py): the strategies take all that it names.
EVERYBODY: Mapping[str, Any] = {"min_train_nodes": 0, "min_evaluate_nodes": 0, "min_available_nodes": 0}


def strategy_for(method: Federated) -> FedAvg:
    """Return Flower's strategy for a method: FedAvg, FedProx or FedAdam.

    Raises:
        ValueError: for FedAdam with a proximal term, which Flower has no strategy for.
    """
    if method.server_optimiser == "adam":
        if method.mu:
            raise ValueError(f"--set server_optimiser=adam: {method.name} averages (Flower's FedProx)")
        return FedAdam(**EVERYBODY, eta=method.server_lr, tau=1e-8)
    if method.mu:
        return FedProx(**EVERYBODY, proximal_mu=method.mu)
    return FedAvg(**EVERYBODY)


class EgoFedAvg(FedAvg):
    """FedAvg where each message also carries what the device's neighbours sent in the round before.

    Everybody is asked for a representation in every round, those who train for an update too.

    Args:
        everybody: All nodes.
        hidden: Hidden units.
        task: The task's bytes.
    """

    def __init__(self, everybody: Iterable[int], hidden: int, task: bytes) -> None:
        super().__init__(**EVERYBODY)
        self.everybody, self.hidden, self.task = list(everybody), hidden, task
        self.neighbours: dict[int, list[int]] = {}
        self.sent: dict[int, FloatArray] = {}

    def subscribe(self, grid: TrainingGrid, arrays: ArrayRecord) -> None:
        """Ask everybody once for its neighbours and its first representation."""
        config = ConfigRecord({"task": self.task})
        content = round_content(arrays, config)
        messages = [Message(content, node, EXCHANGE_TYPE) for node in self.everybody]
        self._note(grid.exchange(messages, "subscription"), arrays[WEIGHTS].dtype)

    def own(self, node: int, dtype: str) -> bytes:
        """What a node's neighbours sent, a row each; zeros for one that is silent."""
        nothing = np.zeros(2 * self.hidden, dtype)
        rows = [self.sent.get(neighbour, nothing) for neighbour in self.neighbours.get(node, ())]
        return b"".join(row.tobytes() for row in rows)

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return a message to everybody: train, or send a representation."""
        config["server-round"] = server_round
        training, dtype = set(grid.get_node_ids()), arrays[WEIGHTS].dtype
        self._dtype = dtype
        return [
            Message(round_content(arrays, config, self.own(node, dtype)), node,
                    MessageType.TRAIN if node in training else EXCHANGE_TYPE)
            for node in self.everybody
        ]  # fmt: skip

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return evaluation messages with what neighbours sent."""
        config["server-round"] = server_round
        dtype = arrays[WEIGHTS].dtype
        return [
            Message(round_content(arrays, config, self.own(node, dtype)), node, MessageType.EVALUATE)
            for node in grid.get_node_ids()
        ]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Keep the representations, average the updates."""
        heard = list(replies)
        self._note(heard, self._dtype)
        return super().aggregate_train(server_round, [reply for reply in heard if "arrays" in reply.content])

    def state(self) -> dict[str, np.ndarray]:
        """Return what was exchanged so far, as arrays."""
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

    def _note(self, replies: Iterable[Message], dtype: str) -> None:
        known = set(self.everybody)
        for reply in replies:
            sender = read_sender(reply)
            if sender is None or sender[1] is None:
                continue
            try:
                neighbours, values = read_representation(sender[1], self.hidden, np.dtype(dtype))
            except ValueError:
                continue
            node = reply.metadata.src_node_id
            self.sent[node] = values
            if neighbours is not None:
                self.neighbours[node] = [other + 1 for other in neighbours.tolist() if other + 1 in known]


class _Continued(Strategy):
    """A strategy whose rounds are numbered on from those that were done before: ``Strategy.start`` begins with 1."""

    def __init__(self, strategy: Strategy, done: int) -> None:
        self.strategy, self.done = strategy, done

    def summary(self) -> None:
        """Log the strategy's summary."""
        self.strategy.summary()

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return the strategy's messages."""
        return self.strategy.configure_train(server_round + self.done, arrays, config, grid)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Return the strategy's aggregate."""
        return self.strategy.aggregate_train(server_round + self.done, replies)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return the strategy's messages."""
        return self.strategy.configure_evaluate(server_round + self.done, arrays, config, grid)

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Return the strategy's aggregate."""
        return self.strategy.aggregate_evaluate(server_round + self.done, replies)


@dataclass
class Best:
    """The weights that evaluated best so far; None where nobody evaluated."""

    accuracy: float = -1.0
    weights: FloatArray | None = None


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed what Flower's strategies draw from (``random`` and numpy's global state), and put it back."""
    kept, state = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed % (1 << 32))
    try:
        yield
    finally:
        random.setstate(kept)
        np.random.set_state(state)


def run_rounds(
    strategy: Strategy, grid: TrainingGrid, weights: FloatArray, task: bytes, *, rounds: int,
    after: Callable[[int, FloatArray], None] = lambda number, weights: None, done: int = 0, best: Best | None = None,
) -> FloatArray:  # fmt: skip
    """Run the rounds under Flower's ``Strategy.start``.

    Args:
        strategy: Flower's, or a wrapper of it.
        grid: Who is asked.
        weights: The global weights to start with.
        task: The task's bytes.
        rounds: How many.
        after: Called after every round (and before the first, with ``done``) with the global weights.
        done: How many of the rounds were run before.
        best: What evaluated best before; it is kept up to date.

    Returns:
        The weights of the round that evaluated best, or the last ones where nobody evaluates.
    """
    best = best or Best()
    last = weights

    def note(number: int, arrays: ArrayRecord) -> None:
        nonlocal last
        last = arrays[WEIGHTS].numpy()
        if grid.accuracy is not None and grid.accuracy > best.accuracy:
            best.accuracy, best.weights = grid.accuracy, last
        grid.accuracy = None
        after(number + done, last)

    (_Continued(strategy, done) if done else strategy).start(
        grid, weights_record(weights), num_rounds=rounds - done, train_config=ConfigRecord({"task": task}),
        evaluate_config=ConfigRecord({"task": task}), evaluate_fn=note,
    )  # fmt: skip
    return last if best.weights is None else best.weights
