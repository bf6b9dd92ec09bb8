"""A repeat of a federated method: devices enrolled to train, rounds of Flower's strategies, a network.

    devices (federated mode) -> [one exchange] -> rounds -> weights -> accuracy against the truth

A run that was killed goes on after its last finished round (:mod:`strategies.rounds.checkpoint`). The
round of the kill is asked again, in the same collection: devices that had answered answer
twice, their ledgers count both answers, and the guarantee is made of what the ledgers say.
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flwr.serverapp import Grid

from curator.methods.federated.fedavg import Federated, Isolate
from curator.methods.federated.private import LDPFedAvg
from devices.client_app import release_states
from devices.data.splits import make_split
from devices.enrolment.state import State, enrol, is_enrolled
from devices.policy.policy import policy_for_training
from devices.training_task import GaussianUpdate, Task
from strategies.engines import collect as engines
from strategies.engines.grids import LocalGrid, RayGrid
from strategies.results import evaluation
from strategies.results.lifetime import read_ledgers
from strategies.results.record import NO_GRAPH, Repeat
from strategies.rounds.checkpoint import CheckpointFile
from strategies.rounds.fedavg import seeded
from strategies.runs.asking import Refused
from strategies.runs.federated_network import trained_model
from strategies.runs.federated_prediction import predict
from strategies.runs.federated_training import Tell, Training
from strategies.runs.isolated import isolated_repeat
from strategies.runs.reference import reference_accuracy
from strategies.setup.options import RunOptions, Seeds
from strategies.setup.run_setup import Plan


def federated_repeat(plan: Plan, seeds: Seeds, number: int, folder: Path, tell: Tell) -> Repeat:
    """Run one repeat.

    Raises:
        ValueError: for devices with the data of another population, a folder that cannot be written,
            or a dp-fedavg that was killed and has no checkpoint.
        Refused: where nobody took part and at least one device refused.
        RunFailed: where nobody answered at all.
    """
    method = plan.settings.method
    assert isinstance(method, Federated)
    population, options = plan.population, plan.options
    split = make_split(options.split, population, seeds.split, options.label_rate)
    if isinstance(method, Isolate):
        return isolated_repeat(plan, seeds, split, method, task_of(plan, method, "isolate"))
    fresh = uuid.uuid4().hex
    home = options.state or folder / ("state" if number == 0 else f"state-{number}")
    state = _enrolled(plan, seeds, home, task_of(plan, method, fresh), method)
    collection = state.open_collection(plan.digest, fresh)
    task = task_of(plan, method, collection)
    before = 0 if collection == fresh else read_ledgers(state, collection)[1].total
    state.close()  # the rounds open the ledgers in processes of their own
    kept = CheckpointFile(folder if options.out is not None else None, number, (plan.digest, collection))
    started = time.perf_counter()
    try:
        with _grid(options, home, len(population)) as inner, engines.quiet_flower(), seeded(seeds.training):
            training = Training(plan, method, task, split, seeds, inner, kept, before)
            weights = training.run(tell)
    except Refused:
        if not before:  # nobody answered: there is no collection to continue
            state.close_collection(plan.digest)
        raise
    finally:
        release_states()
    seconds = time.perf_counter() - started
    tally = training.grid.tally
    lifetime, answers = read_ledgers(state, collection)
    guarantee = training.guarantee(tally.rounds_answered, answers)
    collected = tally.collected(seconds)
    collected.reports = {0: kept.digest.digest()}
    predictions = predict(weights, task, population)
    reference = None
    if options.reference:
        tell("reference", None)
        reference = reference_accuracy(plan, split, seeds.training)
    extra = {
        "rounds": method.rounds, "rounds_answered": tally.rounds_answered,
        "answers_per_device": {"max": answers.most, "mean": answers.total / max(len(tally.asked), 1)},
        "checkpoint": training.start.done, "begun_again": training.start.again,
        "answers_lost": max(answers.total - tally.heard, 0),
        "trained_on": len(split.train), **training.notes,
    }  # fmt: skip
    return Repeat(
        seeds=seeds, split=split, accuracy=evaluation.accuracy(predictions, population, split), reference=reference,
        guarantee=guarantee, collected=collected, lifetime=lifetime, state=state, reconstruction=NO_GRAPH,
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
