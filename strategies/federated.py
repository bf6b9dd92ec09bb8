"""Flower strategies of the federated methods; one that keeps state has ``state`` and ``restore``.

``Federated.strategy`` is a name of :data:`STRATEGIES`, or the whole name of a module of another package that has
``make(method, plan)``, which returns the strategy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import (
    DifferentialPrivacyServerSideAdaptiveClipping,
    DifferentialPrivacyServerSideFixedClipping,
    FedAdam,
    FedAvg,
    FedProx,
    Strategy,
)

from ldpsim.curator.draws import derive
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.methods.federated.fedavg import Federated, FedNova
from ldpsim.curator.methods.federated.private import DPFedAvg
from ldpsim.devices.federated.exchange import read_representation
from ldpsim.devices.federated.wire import (
    EXCHANGE_TYPE,
    STEPS,
    WEIGHTS,
    record_of,
    round_content,
    take_others,
    weights_record,
)
from ldpsim.devices.network import FloatArray, usable
from ldpsim.devices.training_task import Task
from ldpsim.strategies.rounds.checkpoint import ServerState, restore_state, state_of
from ldpsim.strategies.rounds.training_grid import TrainingGrid
from ldpsim.strategies.seeded import seeded


@dataclass(frozen=True)
class TrainingPlan:
    """Facts about a training that a strategy may need.

    Args:
        task: The task of the devices or silos.
        budget: The budget.
        nodes: All nodes, also those that do not train.
        people: Number of devices or silos that train.
        seed: Seed of what the strategy draws; of a method with noise of the server, derived from the noise seed.
    """

    task: Task
    budget: Budget
    nodes: Sequence[int]
    people: int
    seed: int


# TrainingGrid picks the nodes of a round; Flower's strategies then ask all of them.
EVERYBODY: Mapping[str, Any] = {"min_train_nodes": 0, "min_evaluate_nodes": 0, "min_available_nodes": 0}


class ServerAdam(FedAdam):
    """Flower's FedAdam; its state are the two moments of the update, by name of the array."""

    def state(self) -> ServerState:
        """Return the moments; nothing before the first round."""
        moments = {"m_t": self.m_t, "v_t": self.v_t}
        return {f"{name}.{key}": value for name, arrays in moments.items() for key, value in (arrays or {}).items()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Set the moments."""
        for name in ("m_t", "v_t"):
            start = f"{name}."
            moments = {key.removeprefix(start): value for key, value in state.items() if key.startswith(start)}
            setattr(self, name, moments or None)


def _fedavg(method: Federated, plan: TrainingPlan) -> FedAvg:
    """Return FedAvg, FedProx or FedAdam."""
    if method.server_optimiser == "adam":
        return ServerAdam(**EVERYBODY, eta=method.server_lr, tau=1e-8)
    if method.mu:
        return FedProx(**EVERYBODY, proximal_mu=method.mu)
    return FedAvg(**EVERYBODY)


def _fednova(method: FedNova, plan: TrainingPlan) -> NormalisedAverage:
    """Return the strategy of a training."""
    return NormalisedAverage(method.least_steps, method.local_steps, plan.seed, normalised=method.normalised)


class NormalisedAverage(FedAvg):
    """FedNova: updates are divided by their number of local steps before they are averaged.

    Paper: Wang et al. 2020, https://arxiv.org/abs/2007.07481, for plain gradient steps. The server tells each device
    of a round its number of steps t_i, drawn from the seed, the round and the node alone. With the answers y_i of S
    devices

        x+ = x + t mean_i (y_i - x) / t_i,        t = mean_i t_i.

    The mean of the updates themselves, as in FedAvg, would favour the devices that take more steps.

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
        records = {steps: ConfigRecord({**config, STEPS: steps}) for steps in range(self.least, self.most + 1)}
        return [
            Message(round_content(arrays, records[self.steps(server_round, node)]), node, MessageType.TRAIN)
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


def _scaffold(method: Federated, plan: TrainingPlan) -> Scaffold:
    """Return the strategy of a training."""
    return Scaffold(plan.people, plan.task.steps * plan.task.lr)


class Scaffold(FedAvg):
    """SCAFFOLD: local steps that are corrected by the difference of two control variates.

    Paper: Karimireddy et al. 2020, https://arxiv.org/abs/1910.06378, algorithm 1, option II, global step size 1.
    The server's control variate c goes out with the weights x. A device answers with its weights y_i after K local
    steps of learning rate lr. The change of its own control variate, c_i+ - c_i = (x - y_i) / (K lr) - c, follows from
    y_i and from what it was sent. So it needs no second message: with the mean y of the answers of S of all N devices

        x+ = y,        c+ = c + |S| / N ((x - y) / (K lr) - c).

    Devices keep nothing between rounds: c_i travels with the update and comes back with the next question.

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


def _ego(method: Federated, plan: TrainingPlan) -> EgoFedAvg:
    """Return the strategy of a training in which every device takes part."""
    return EgoFedAvg(plan.nodes, plan.task)


class EgoFedAvg(FedAvg):
    """FedAvg with one more entry in each message: the rows that the device's neighbours sent a round before.

    A device of the task ``ego`` adds up one row of 2 x hidden floats from every neighbour; in its first answer it lists
    its neighbours. Every device sends its representation in every round. The training devices also send an update.

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
        nodes = set(self.everybody)
        for reply in replies:
            neighbours, values = read_representation(take_others(reply), self.task, dtype)
            node = reply.metadata.src_node_id
            self.sent[node] = values
            if neighbours is not None:
                self.neighbours[node] = [other + 1 for other in neighbours.tolist() if other + 1 in nodes]


Aggregate = tuple[ArrayRecord | None, MetricRecord | None]


class _NoiseForReplies(Strategy):
    """Mixin for Flower's wrappers for central DP: noise for the number of replies, from a secret seed.

    Papers: McMahan et al. 2018, https://arxiv.org/abs/1710.06963; adaptive clipping: Andrew et al. 2021,
    https://arxiv.org/abs/1905.03871.

    Flower divides the noise by the number of sampled devices, but the sum of updates by the
    number of replies. If devices drop out, the noise is then too small for the mean. Here
    both numbers are the number of replies.

    Flower draws from numpy's global generator. Each round seeds it anew.
    """

    current_arrays: ArrayRecord
    num_sampled_clients: int
    strategy: Strategy
    noise_seed: int

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Aggregate:
        """Clip, average and add noise; a round without replies is no release."""
        heard = [_moved(reply, self.current_arrays) for reply in replies]
        self.num_sampled_clients = len(heard)
        if not heard:
            return None, None
        with seeded(derive(self.noise_seed, "noise of the server", server_round)):
            return super().aggregate_train(server_round, heard)  # type: ignore[safe-super]

    def state(self) -> ServerState:
        """Return the state of the wrapped strategy."""
        return state_of(self.strategy)

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the wrapped strategy."""
        restore_state(self.strategy, state)


class FixedClipping(_NoiseForReplies, DifferentialPrivacyServerSideFixedClipping):
    """Flower's wrapper for fixed clipping, with noise for the number of replies."""


class AdaptiveClipping(_NoiseForReplies, DifferentialPrivacyServerSideAdaptiveClipping):
    """Flower's wrapper for adaptive clipping, with noise for the number of replies. Its state is the clipping norm."""

    clipping_norm: float

    def state(self) -> ServerState:
        """Return the clipping norm, and the state of the wrapped strategy."""
        return {**super().state(), "clipping_norm": np.array(self.clipping_norm)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Set the clipping norm, and restore the wrapped strategy."""
        self.clipping_norm = float(state["clipping_norm"])
        super().restore({name: value for name, value in state.items() if name != "clipping_norm"})


def _moved(reply: Message, current: ArrayRecord) -> Message:
    """Move an update of exactly zero by 1e-6, because Flower divides by its norm.

    A saturated network can give a zero update. The clipping norm still bounds the moved one.
    """
    record = reply.content.array_records["arrays"]
    weights, before = record[WEIGHTS].numpy(), current[WEIGHTS].numpy()
    if not np.any(weights != before):
        weights = before.copy()
        weights[0] += max(1e-6, 1e-6 * abs(float(before[0])))
        reply.content["arrays"] = weights_record(weights)
    return reply


def _private(method: DPFedAvg, plan: TrainingPlan) -> Strategy:
    """Return FedAvg or FedAdam with the clipping and the noise of a method."""
    sample = method.rounds_of(plan.people).sample
    return private(_fedavg(method, plan), method, multiplier=method.multiplier(plan.people, plan.budget),
                   sample=sample, noise_seed=plan.seed)  # fmt: skip


def private(strategy: Strategy, method: DPFedAvg, *, multiplier: float, sample: int, noise_seed: int) -> Strategy:
    """Return a strategy wrapped with the clipping and the noise of a method.

    Args:
        strategy: FedAvg.
        method: Decides the clipping.
        multiplier: Noise multiplier of the model and the clipping count together.
        sample: Number of devices that a round asks.
        noise_seed: Seed of the noise of all rounds.
    """
    wrapped: FixedClipping | AdaptiveClipping
    # In a small sample, the noise of the count is at least that of the whole release.
    spread = max(sample / 20, multiplier)
    if method.clipping == "fixed":
        wrapped = FixedClipping(strategy, multiplier, method.clip, sample)
    else:
        wrapped = AdaptiveClipping(strategy, multiplier, sample, initial_clipping_norm=method.clip,
                                   clipped_count_stddev=spread)  # fmt: skip
    wrapped.noise_seed = noise_seed
    return wrapped


STRATEGIES: Mapping[str, Callable[[Any, TrainingPlan], Strategy]] = {
    "fedavg": _fedavg, "fednova": _fednova, "scaffold": _scaffold, "ego_fedavg": _ego, "dp_fedavg": _private,
}  # fmt: skip


def strategy_for(method: Federated, plan: TrainingPlan) -> Strategy:
    """Return a new strategy of a method; ValueError for a method whose strategy is nowhere."""
    name = method.spec.strategy
    make = STRATEGIES.get(name)
    if make is None and "." in name:
        try:
            make = getattr(import_module(name), "make", None)
        except ModuleNotFoundError as error:
            if not name.startswith(error.name or ""):  # something that the module itself imports
                raise
    if make is None:
        raise ValueError(f"{method.spec.name}: its strategy {name!r} needs make(method, plan) in a module of that name")
    return make(method, plan)
