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
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import (
    DifferentialPrivacyServerSideAdaptiveClipping,
    DifferentialPrivacyServerSideFixedClipping,
    FedAdam,
    FedAvg,
    FedAvgM,
    FedProx,
    Strategy,
)

from ldpsim.curator.draws import derive
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.methods.federated.dp_fedavg import DPFedAvg
from ldpsim.curator.methods.federated.federated import Federated
from ldpsim.curator.methods.federated.fednova import FedNova
from ldpsim.devices.federated.exchange import read_representation
from ldpsim.devices.federated.messages import QuestionGroup, RoundAnswers, RoundQuestions
from ldpsim.devices.federated.wire import STEPS, WEIGHTS, record_of, round_content, weights_record
from ldpsim.devices.network import FloatArray, usable
from ldpsim.devices.training_task import Task
from ldpsim.devices.wire import EXCHANGE_TYPE
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


Aggregate = tuple[ArrayRecord | None, MetricRecord | None]
# TrainingGrid picks the nodes of a round; Flower's strategies then ask all of them.
EVERYBODY: Mapping[str, Any] = {"min_train_nodes": 0, "min_evaluate_nodes": 0, "min_available_nodes": 0}


class Average(FedAvg):
    """FedAvg of the answers of a round as they come: one product, and no message where nobody looks at one."""

    def _construct_messages(self, record: RecordDict, node_ids: list[int], message_type: str) -> RoundQuestions:
        return RoundQuestions([QuestionGroup(message_type, record, sorted(node_ids))])

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Aggregate:
        """Return the mean of the weights, weighted by the number of people."""
        answered = RoundAnswers.of(replies).updates()
        if answered is None or answered.updates is None or answered.people is None:
            return None, None
        return weights_record(answered.updates.mean(answered.people)), MetricRecord()

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Return the share of the people whose class is right."""
        right, people = RoundAnswers.of(replies).judged()
        return MetricRecord({"accuracy": right / people}) if people else None


class ServerAdam(FedAdam, Average):
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


class ServerSteps(FedAvgM, Average):
    """Flower's FedAvgM without momentum, x+ = x + server_lr (mean - x): FedOpt with plain steps. It keeps no state."""


class Proximal(FedProx, Average):
    """Flower's FedProx."""


def _fedavg(method: Federated, plan: TrainingPlan) -> FedAvg:
    """Return FedAvg, FedProx, FedAdam or FedOpt with plain steps."""
    if method.server_optimiser == "sgd":
        return ServerSteps(**EVERYBODY, server_learning_rate=method.server_lr)
    if method.server_optimiser == "adam":
        return ServerAdam(**EVERYBODY, eta=method.server_lr, tau=1e-8)
    if method.mu:
        return Proximal(**EVERYBODY, proximal_mu=method.mu)
    return Average(**EVERYBODY)


def _fednova(method: FedNova, plan: TrainingPlan) -> NormalisedAverage:
    """Return the strategy of a training."""
    return NormalisedAverage(method.least_steps, method.local_steps, plan.seed, normalised=method.normalised)


class NormalisedAverage(Average):
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
        alike: dict[int, list[int]] = {}
        for node in sorted(grid.get_node_ids()):
            alike.setdefault(self.steps(server_round, node), []).append(node)
        return RoundQuestions(
            QuestionGroup(MessageType.TRAIN, round_content(arrays, ConfigRecord({**config, STEPS: steps})), nodes)
            for steps, nodes in sorted(alike.items())
        )

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Aggregate:
        """Scale every update to the mean number of steps, and average."""
        answers = RoundAnswers.of(replies)
        steps = np.array([self.steps(server_round, node) for node in answers.nodes])
        if self.normalised and len(set(steps.tolist())) > 1:
            answers = answers.moved(self.sent, steps.mean() / steps)
        return super().aggregate_train(server_round, answers)


def _scaffold(method: Federated, plan: TrainingPlan) -> Scaffold:
    """Return the strategy of a training."""
    return Scaffold(plan.people, plan.task.steps * plan.task.lr)


class Scaffold(Average):
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
        content = round_content(arrays, config, None, weights_record(self.control))
        return RoundQuestions([QuestionGroup(MessageType.TRAIN, content, sorted(grid.get_node_ids()), self.variates)])

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Aggregate:
        """Average the updates; move c; keep the control variates of the devices that answered."""
        answers = RoundAnswers.of(replies)
        arrays, metrics = super().aggregate_train(server_round, answers)
        if arrays is not None and self.control is not None:
            mean = (self.sent - arrays[WEIGHTS].numpy()) / self.reach
            moved = self.control + len(answers) / self.people * (mean - self.control)
            self.control = usable(moved.astype(self.sent.dtype))
            self.variates = self.variates | answers.others()
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


class EgoFedAvg(Average):
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
        questions = RoundQuestions([QuestionGroup(EXCHANGE_TYPE, content, sorted(self.everybody))])
        self._keep(grid.exchange(questions, "subscription"), arrays[WEIGHTS].dtype)

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

    def _messages(self, arrays: ArrayRecord, config: ConfigRecord, kinds: Mapping[int, str]) -> RoundQuestions:
        """Return a message of its kind to each node, with the rows of the node's neighbours."""
        rows = {node: own for node in kinds if (own := self.own(node, arrays[WEIGHTS].dtype)) is not None}
        alike: dict[str, list[int]] = {}
        for node, kind in sorted(kinds.items()):
            alike.setdefault(kind, []).append(node)
        content = round_content(arrays, config)
        return RoundQuestions(QuestionGroup(kind, content, nodes, rows) for kind, nodes in alike.items())

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Aggregate:
        """Keep the representations, average the updates."""
        answers = RoundAnswers.of(replies)
        self._keep(answers, self._dtype)
        return super().aggregate_train(server_round, answers)

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

    def _keep(self, answers: RoundAnswers, dtype: str) -> None:
        """Keep the representations, and the neighbours where a device lists them."""
        nodes = set(self.everybody)
        for node, record in sorted(answers.others().items()):
            neighbours, values = read_representation(record, self.task, dtype)
            self.sent[node] = values
            if neighbours is not None:
                self.neighbours[node] = [other + 1 for other in neighbours.tolist() if other + 1 in nodes]


class _Clipping(Strategy):
    """Mixin for Flower's wrappers for central DP: noise for the number of answers, from a secret seed.

    Papers: McMahan et al. 2018, https://arxiv.org/abs/1710.06963; adaptive clipping: Andrew et al. 2021,
    https://arxiv.org/abs/1905.03871.

    Flower divides the noise by the number of sampled devices, but the sum of updates by the
    number of replies. If devices drop out, the noise is then too small for the mean. Here
    both numbers are the number of answers.

    Flower draws from numpy's global generator. Each round seeds it anew.
    """

    current_arrays: ArrayRecord
    num_sampled_clients: int
    clipping_norm: float
    strategy: Strategy
    noise_seed: int

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Aggregate:
        """Clip, average and add noise; a round without answers is no release."""
        answers = RoundAnswers.of(replies)
        answered = answers.updates()
        if answered is None or answered.updates is None:
            return None, None
        self.num_sampled_clients = len(answered.nodes)
        sent = self.current_arrays[WEIGHTS].numpy()
        norms = answered.updates.distances(sent)
        clipped = norms > self.clipping_norm
        factors = np.divide(self.clipping_norm, norms, out=np.ones_like(norms), where=clipped)
        with seeded(derive(self.noise_seed, "noise of the server", server_round)):
            following = self._next_norm(int(clipped.sum()))
            arrays, metrics = self.strategy.aggregate_train(server_round, answers.moved(sent, factors))
            wrapper: Any = self  # Flower's
            noisy = None if arrays is None else wrapper._add_noise_to_aggregated_arrays(arrays)
        self.clipping_norm = following  # Flower's own wrapper moves it before the noise, which may then be too small
        return noisy, metrics

    def _next_norm(self, clipped: int) -> float:
        """Return the clipping norm of the next round, given how many updates were clipped."""
        return self.clipping_norm

    def state(self) -> ServerState:
        """Return the state of the wrapped strategy."""
        return state_of(self.strategy)

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the wrapped strategy."""
        restore_state(self.strategy, state)


class FixedClipping(_Clipping, DifferentialPrivacyServerSideFixedClipping):
    """Flower's wrapper for fixed clipping, with noise for the number of answers."""


class AdaptiveClipping(_Clipping, DifferentialPrivacyServerSideAdaptiveClipping):
    """Flower's wrapper for adaptive clipping, with noise for the number of answers. Its state is the clipping norm."""

    def _next_norm(self, clipped: int) -> float:
        """Return the norm that Flower moves to."""
        present = self.clipping_norm
        self._geometric_update(self._noisy_fraction(clipped, self.num_sampled_clients))
        following, self.clipping_norm = self.clipping_norm, present
        return following

    def state(self) -> ServerState:
        """Return the clipping norm, and the state of the wrapped strategy."""
        return {**super().state(), "clipping_norm": np.array(self.clipping_norm)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Set the clipping norm, and restore the wrapped strategy."""
        self.clipping_norm = float(state["clipping_norm"])
        super().restore({name: value for name, value in state.items() if name != "clipping_norm"})


def _private(method: DPFedAvg, plan: TrainingPlan) -> Strategy:
    """Return FedAvg or FedAdam with the clipping and the noise of a method, unless devices have added it."""
    if method.distributed:
        return _fedavg(method, plan)
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
