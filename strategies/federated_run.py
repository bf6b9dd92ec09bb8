"""A repeat of a federated method: devices enrolled to train, rounds of Flower's strategies, a network.

    devices (federated mode) -> [one exchange] -> rounds -> weights -> accuracy against the truth
"""

from __future__ import annotations

import hashlib
import math
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from curator.guarantee import Guarantee
from curator.methods.federated import FedAvgGNN, Federated, FedGCN, Isolate
from curator.methods.private_federated import DPFedAvg, LDPFedAvg
from curator.propagation import adjacency_matrix, gcn_matrix
from devices.client_app import release_states
from devices.enrolment import State, enrol, is_enrolled
from devices.facts import Split
from devices.fleet_training import Stack
from devices.local_training import Inputs
from devices.networks import FloatArray
from devices.policy import policy_for_training
from devices.population import Population
from devices.splits import make_split
from devices.tasks import GaussianUpdate, Task
from strategies import engines, evaluation
from strategies.asking import Refused, RunFailed
from strategies.collect_once import Collected
from strategies.federated import EgoFedAvg, run_rounds, seeded, strategy_for
from strategies.federated_model import trained_model
from strategies.grids import LocalGrid, RayGrid
from strategies.lifetime import lifetime, nothing_known
from strategies.options import RunOptions, Seeds
from strategies.owning import sparse_features
from strategies.planning import Plan
from strategies.private_federated import private
from strategies.record import Repeat
from strategies.sums import exchange_sums
from strategies.training_grid import TrainingGrid

Tell = Callable[[str, float | None], None]
NO_GRAPH = dict.fromkeys(("edge_precision", "edge_recall", "edges", "feature_mae", "aggregate_mae"))


def federated_repeat(plan: Plan, seeds: Seeds, number: int, folder: Path, tell: Tell) -> Repeat:
    """Run one repeat.

    Raises:
        ValueError: for devices with the data of another population, or a folder that cannot be written.
        Refused: where nobody took part and at least one device refused.
        RunFailed: where nobody answered at all.
    """
    method = plan.settings.method
    assert isinstance(method, Federated)
    population, options = plan.population, plan.options
    split = make_split(options.split, population, seeds.split, options.label_rate)
    if isinstance(method, Isolate):
        return _isolated(plan, seeds, split, method)
    collection = uuid.uuid4().hex
    task = task_of(plan, method, collection)
    home = options.state or folder / ("state" if number == 0 else f"state-{number}")
    state = _enrolled(plan, seeds, home, task, method)
    started = time.perf_counter()
    try:
        with _grid(options, home, len(population)) as inner, engines.quiet_flower(), seeded(seeds.training):
            training = Training(plan, method, task, split, seeds, inner)
            weights = training.run(tell)
    finally:
        release_states()
    seconds = time.perf_counter() - started
    tally = training.grid.tally
    collected = tally.collected(seconds)
    collected.reports = {0: training.digest.digest()}
    predictions = predict(weights, task, population)
    reference = None
    if options.reference:
        from strategies.simulation import reference_accuracy

        tell("reference", None)
        reference = reference_accuracy(plan, split, seeds.training)
    extra = {
        "rounds": method.rounds, "rounds_answered": tally.rounds_answered,
        "answers_per_device": {"max": max(tally.answered.values(), default=0),
                               "mean": sum(tally.answered.values()) / max(len(tally.asked), 1)},
        "trained_on": len(split.train), **training.notes,
    }  # fmt: skip
    return Repeat(
        seeds=seeds, split=split, accuracy=evaluation.accuracy(predictions, population, split), reference=reference,
        guarantee=training.guarantee(tally.rounds_answered), collected=collected, lifetime=lifetime(state),
        state=state, reconstruction=NO_GRAPH,
        seconds={"collect": training.exchange_seconds, "reconstruct": 0.0,
                 "train": seconds - training.exchange_seconds},
        trained=trained_model(weights, task.shape, predictions, method.rounds, seconds), lp_and_test=None,
        seeded=bool(state.head["simulation_seeded"]), federated=extra,
        phases={name: phase.to_dict() for name, phase in tally.phases.items()},
    )  # fmt: skip


def task_of(plan: Plan, method: Federated, collection: str) -> Task:
    """Return the task that a method's devices are asked."""
    facts, training = plan.population.facts, plan.settings.training
    noise = None
    if isinstance(method, LDPFedAvg):
        epsilon, delta = method.each(facts, plan.budget)
        noise = GaussianUpdate.from_epsilon(epsilon, clip=method.clip, delta=delta)
    return Task(
        collection, method.sees, facts.d, training.hidden, facts.classes, float(training.lr), method.local_steps,
        scaling=method.scaling, noise=noise,
    )  # fmt: skip


class Training:
    """The rounds of one repeat.

    Args:
        plan: The run.
        method: What is trained.
        task: What devices are asked.
        split: Who trains.
        seeds: Of the initial weights, of samples and of dropouts.
        inner: Takes messages to the devices.
    """

    def __init__(
        self, plan: Plan, method: Federated, task: Task, split: Split, seeds: Seeds, inner: Grid
    ) -> None:
        self.plan, self.method, self.task, self.split, self.seeds = plan, method, task, split, seeds
        self.nodes = [device + 1 for device in range(len(plan.population))]
        self.digest = hashlib.sha256()
        self.notes: dict[str, Any] = {}
        self.exchange_seconds = 0.0
        silent = silent_nodes(plan.options, seeds, len(plan.population))
        dropping = method.dropping

        def drops(node: int, number: int) -> bool:
            if node in silent:
                return True
            return bool(dropping) and np.random.default_rng([seeds.split, number, node]).random() < dropping

        self.grid = TrainingGrid(inner, train=self.sample, evaluate=self._judges, drops=drops)

    def sample(self, number: int) -> Sequence[int]:
        """The training devices of a round: a fixed number drawn without replacement, or those whose turn it is."""
        nodes = (self.split.train + 1).tolist()
        if isinstance(self.method, LDPFedAvg):
            turns = round(1 / self.method.fraction)
            order = np.random.default_rng(self.seeds.training).permutation(nodes)
            return sorted(order[(number - 1) % turns :: turns].tolist())
        wanted = max(1, round(self.method.fraction * len(nodes)))
        if wanted == len(nodes):
            return list(nodes)
        rng = np.random.default_rng([self.seeds.training, number])
        return sorted(rng.choice(nodes, wanted, replace=False).tolist())

    def _judges(self, number: int) -> Sequence[int]:
        every = self.method.evaluate_every
        return (self.split.val + 1).tolist() if every and number % every == 0 else ()

    def strategy(self) -> Strategy:
        """Flower's strategy for the method."""
        strategy = strategy_for(self.method)
        if not isinstance(self.method, DPFedAvg):
            return strategy
        people = len(self.split.train)
        multiplier = self.method.multiplier(people, self.plan.budget)
        sample = self.method.asked(people).sample
        self.notes["noise_multiplier"] = multiplier
        return private(strategy, self.method, multiplier=multiplier, sample=sample)

    def run(self, tell: Tell) -> FloatArray:
        """Run everything and return the weights."""
        weights = self.task.shape.initial(self.seeds.training)
        task = self.task.to_bytes()
        started = time.perf_counter()
        if isinstance(self.method, FedGCN):
            tell("exchange", None)
            everybody = np.concatenate([self.split.train, self.split.val if self.method.evaluate_every else []])
            exchange_sums(self.grid, self.task, self.nodes, np.sort(everybody).astype(np.int64) + 1)
            self._check()
        strategy = self.strategy()
        if isinstance(self.method, FedAvgGNN):
            from devices.federated_wire import weights_record

            tell("exchange", None)
            strategy = EgoFedAvg(self.nodes, self.task.hidden, task)
            strategy.subscribe(self.grid, weights_record(weights))
            self._check()
        self.exchange_seconds = time.perf_counter() - started

        def after(number: int, weights: FloatArray) -> None:
            if number:
                self.digest.update(weights.tobytes())
                self._check()
            tell("rounds", number / self.method.rounds)

        return run_rounds(strategy, self.grid, weights, task, rounds=self.method.rounds, after=after)

    def _check(self) -> None:
        """Stop where everybody refuses; a round in which nobody answers is only a lost round."""
        tally = self.grid.tally
        if not tally.answered and tally.refused:
            codes = tally.collected(0.0).refused
            told = ", ".join(f"{code} {count:,}" for code, count in sorted(codes.items()))
            raise Refused(f"refused: none of {len(tally.asked):,} devices takes part ({told})")

    def guarantee(self, rounds: int) -> Guarantee:
        """What holds after the rounds that were answered; RunFailed where there were none."""
        if not rounds:
            raise RunFailed(f"none of {len(self.grid.tally.asked):,} devices answered in {self.method.rounds} rounds")
        method, plan = self.method, self.plan
        if isinstance(method, DPFedAvg):
            return method.guarantee_after(len(self.split.train), rounds, self.notes["noise_multiplier"])
        if isinstance(method, LDPFedAvg):
            assert self.task.noise is not None
            answers = max(self.grid.tally.answered.values())
            each = self.task.noise.loss
            return method.guarantee_of(each.vector, each.delta, answers, plan.budget.epsilon)
        return method.guarantee(plan.population.facts, (), plan.budget)


def silent_nodes(options: RunOptions, seeds: Seeds, n: int) -> frozenset[int]:
    """Return the nodes of the devices that never answer (``--dropout``)."""
    if not options.dropout:
        return frozenset()
    rng = np.random.default_rng([seeds.population, seeds.split, seeds.noise or 0, seeds.training])
    return frozenset((rng.choice(n, round(options.dropout * n), replace=False) + 1).tolist())


def _enrolled(plan: Plan, seeds: Seeds, home: Path, task: Task, method: Federated) -> State:
    population = plan.population
    if is_enrolled(home):
        state = State(home)
        if state.head["population_digest"] != population.digest:
            raise ValueError(f"{home}: the devices there hold the data of another population")
        return state
    policy = policy_for_training(task, population.facts, answers=answers_of(method), caps=plan.options.caps)
    try:
        return enrol(home, population, policy, seed=seeds.noise)
    except OSError as error:
        raise ValueError(f"{home} cannot be written: {error.strerror}") from None


def answers_of(method: Federated) -> int:
    """How often a device takes part at most, where every device takes its turn."""
    return method.answers if isinstance(method, LDPFedAvg) else math.ceil(method.rounds * method.fraction)


@contextmanager
def _grid(options: RunOptions, home: Path, devices: int) -> Iterator[Grid]:
    if engines.choose(options.engine, devices, options.ray_address) == "ray":
        grid = RayGrid(home, devices, workers=options.workers, address=options.ray_address)
        try:
            yield grid
        finally:
            grid.close()
    else:
        yield LocalGrid(home, devices)


def scaled_features(population: Population, scaling: str) -> Any:
    """Return all features as devices scale them, CSR (n, d)."""
    features = sparse_features(population)
    if scaling == "none":
        return features
    sums = features.multiply(features) if scaling == "unit" else abs(features)
    size = np.asarray(sums.sum(axis=1, dtype=np.float64)).ravel()
    size = np.sqrt(size) if scaling == "unit" else size
    scale = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
    return features.multiply(scale[:, None]).tocsr().astype(np.float32)


def predict(weights: FloatArray, task: Task, population: Population) -> np.ndarray:
    """Return everybody's class, int64 (n,): of its own features, or with its neighbours as in training."""
    w1, b1, w2, b2 = task.shape.parts(weights)
    inputs = scaled_features(population, task.scaling)
    if task.sees == "own":
        return (np.maximum(inputs @ w1 + b1, 0) @ w2 + b2).argmax(axis=1).astype(np.int64)
    edges = population.edges
    spread = gcn_matrix(adjacency_matrix(len(population), np.concatenate([edges, edges[::-1]], axis=1)))
    hidden = np.maximum(spread @ (inputs @ w1) + b1, 0)
    return (spread @ (hidden @ w2) + b2).argmax(axis=1).astype(np.int64)


def _isolated(plan: Plan, seeds: Seeds, split: Split, method: Isolate) -> Repeat:
    """Every training device alone: mean accuracy of its network on the other people."""
    population = plan.population
    task = task_of(plan, method, "isolate")
    started = time.perf_counter()
    inputs = scaled_features(population, task.scaling)
    weights = task.shape.initial(seeds.training)
    scores: dict[str, list[float]] = {"test": [], "val": [], "macro_f1": []}
    votes = np.zeros((len(population), population.facts.classes), np.int64)
    indptr, columns, values = inputs.indptr, inputs.indices, inputs.data
    nothing, one = np.zeros(task.hidden, np.float32), np.ones(1, np.float32)
    for start in range(0, len(split.train), _ALONE):
        people = split.train[start : start + _ALONE]
        rows = [slice(indptr[person], indptr[person + 1]) for person in people]
        alone = [
            Inputs(np.array([0, row.stop - row.start]), columns[row].astype(np.int64), values[row], one, nothing,
                   nothing, int(population.labels[person]))
            for row, person in zip(rows, people, strict=True)
        ]  # fmt: skip
        for flat in Stack(alone, task).train(weights):
            w1, b1, w2, b2 = task.shape.parts(flat)
            found = (np.maximum(inputs @ w1 + b1, 0) @ w2 + b2).argmax(axis=1)
            votes[np.arange(len(found)), found] += 1
            for name, value in evaluation.accuracy(found, population, split).items():
                if value is not None:
                    scores[name].append(value)
    seconds = time.perf_counter() - started
    reference = None
    if plan.options.reference:
        from strategies.simulation import reference_accuracy

        reference = reference_accuracy(plan, split, seeds.training)
    accuracy: Mapping[str, float | None] = {
        name: float(np.mean(found)) if found else None for name, found in scores.items()
    }
    return Repeat(
        seeds=seeds, split=split, accuracy=accuracy, reference=reference,
        guarantee=method.guarantee(population.facts, (), plan.budget), collected=Collected(),
        lifetime=nothing_known(complete=True), state=None, reconstruction=NO_GRAPH,
        seconds={"collect": 0.0, "reconstruct": 0.0, "train": seconds}, trained=None, lp_and_test=None, seeded=None,
        federated={"rounds": 0, "rounds_answered": 0, "trained_on": len(split.train)}, phases={},
    )  # fmt: skip


_ALONE = 64
