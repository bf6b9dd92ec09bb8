"""A repeat of a federated method: devices enrolled to train, rounds of Flower's strategies, a network.

    devices (federated mode) -> [one exchange] -> rounds -> weights -> accuracy against the truth
"""

from __future__ import annotations

import hashlib
import math
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from curator.guarantee import Guarantee
from curator.methods.federated import FedAvgGNN, Federated, FedGCN, Isolate
from curator.methods.private_federated import DPFedAvg, LDPFedAvg
from devices.client_app import release_states
from devices.enrolment import State, enrol, is_enrolled
from devices.facts import Split
from devices.networks import FloatArray
from devices.policy import policy_for_training
from devices.splits import make_split
from devices.tasks import GaussianUpdate, Task
from strategies import engines, evaluation
from strategies.asking import Refused, RunFailed
from strategies.federated import EgoFedAvg, run_rounds, seeded, strategy_for
from strategies.federated_model import trained_model
from strategies.federated_prediction import predict
from strategies.grids import LocalGrid, RayGrid
from strategies.isolated_run import isolated_repeat
from strategies.lifetime import lifetime
from strategies.options import RunOptions, Seeds
from strategies.planning import Plan
from strategies.private_federated import private
from strategies.record import NO_GRAPH, Repeat
from strategies.sums import exchange_sums
from strategies.training_grid import TrainingGrid

Tell = Callable[[str, float | None], None]


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
        return isolated_repeat(plan, seeds, split, method, task_of(plan, method, "isolate"))
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
