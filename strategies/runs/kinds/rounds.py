"""Runs of the federated methods: devices, or silos of devices, train in rounds of Flower's strategies.

    devices (federated mode)               -> [one exchange] -> rounds -> weights
    devices (owner mode) -> silos          -> [one exchange] -> rounds -> weights
    isolate: every device trains alone and sends nothing

Each silo is one Flower client with a folder of its own, and the same ClientApp as a device's. The guarantee is computed
from the devices' ledgers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from ldpsim.curator.methods import Question
from ldpsim.curator.methods.federated.federated import Federated
from ldpsim.curator.methods.federated.silos import Silos
from ldpsim.curator.nulls.inputs import known_from_graph
from ldpsim.curator.observer import watched
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.curator.privacy.level import Level
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.devices.data.records import Record
from ldpsim.devices.facts import IntArray, Split
from ldpsim.devices.federated.local_steps import Inputs, SparseRows, Stack
from ldpsim.devices.federated.members import Members, size_of
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.network import FloatArray
from ldpsim.devices.policy.policy import policy_for_training
from ldpsim.devices.raw_record import hand_over
from ldpsim.devices.training_task import UNPROTECTED, Task
from ldpsim.strategies.engines import collect as engines
from ldpsim.strategies.engines.grids import SiloGrid
from ldpsim.strategies.people.owner_graphs import joined_rows, owned_graph
from ldpsim.strategies.people.silos import divide_into_silos
from ldpsim.strategies.results import evaluation
from ldpsim.strategies.results.lifetime import TrainingAnswers, read_ledgers
from ldpsim.strategies.results.outcome import Outcome, Predict
from ldpsim.strategies.rounds.checkpoint import CheckpointFile
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.rounds.records import read_records
from ldpsim.strategies.rounds.replies import TooManyFailed
from ldpsim.strategies.rounds.training_grid import Phase
from ldpsim.strategies.runs.asking import open_grid, stopped_for_good
from ldpsim.strategies.runs.errors import Refused, RunFailed
from ldpsim.strategies.runs.kind import (
    ANY,
    Others,
    ReferenceTraining,
    RunKind,
    policy_of,
    without_noise,
    work_of_others,
)
from ldpsim.strategies.runs.kinds.from_volunteers import StartFromVolunteers
from ldpsim.strategies.runs.kinds.network import (
    TwoLayers,
    class_scores,
    loss_on,
    predict_by_silo,
    scaled_features,
    scores_of_task,
    scores_on_graph,
)
from ldpsim.strategies.runs.kinds.training import Trained, Training
from ldpsim.strategies.runs.repeat import Repeat
from ldpsim.strategies.seeded import seeded
from ldpsim.strategies.setup.run_setup import RepeatPlan, Setup

_ALONE = 64  # networks of `isolate` trained at once


def released_by_all(setup: Setup, split: Split) -> Trained | None:
    """Return the release if every round is answered; None where it does not depend on who trains."""
    method = cast(Federated, setup.method)
    if not method.central_noise:
        return None
    # The more people train, the better the noise on a trained model hides each of them.
    answers = TrainingAnswers(np.full(len(setup.population), method.answers), UNPROTECTED, complete=True)
    return Trained(len(method.learners(split)), method.rounds, answers)


def plan_of_devices(setup: Setup, plan: RepeatPlan) -> RepeatPlan:
    """Return the plan of rounds in which the devices of the people train; their policy allows all answers."""
    task, answers = task_of(setup, "policy", plan.split), cast(Federated, setup.method).answers
    policy = policy_for_training(task, setup.facts, answers=answers, caps=setup.options.caps)
    return replace(plan, policy=policy, released=released_by_all(setup, plan.split))


def plan_of_silos(setup: Setup, plan: RepeatPlan) -> RepeatPlan:
    """Return the plan of silos: everybody is asked for the raw record."""
    questions = (Question(hand_over(ANY)),)
    return replace(plan, questions=questions, policy=policy_of(setup, questions, "owner"),
                   released=released_by_all(setup, plan.split))  # fmt: skip


def plan_of_alone(setup: Setup, plan: RepeatPlan) -> RepeatPlan:
    """Return the plan of devices that train alone: nobody is asked."""
    return replace(plan, released=released_by_all(setup, plan.split))


def guarantee(setup: Setup, released: Sequence[Any]) -> Guarantee:
    """Return the guarantee of the models of a server, or of the updates of each device, in all trainings."""
    method, facts, times = cast(Federated, setup.method), setup.facts, len(released)
    if None in released:
        return method.guarantee(facts, (), setup.budget, collections=times).over(times)
    trained: Sequence[Trained] = released
    models, losses = sum(one.models for one in trained), [one.answers.loss for one in trained]
    most = int(np.sum([one.answers.counts for one in trained], axis=0).max(initial=0))
    largest = Loss(*(max(getattr(loss, name) for loss in losses) for name in ("bit", "vector", "delta")))
    each = [
        method.guarantee_of_training(
            facts, setup.budget, people=people, models=models, answers=most, loss=largest
        )
        for people in sorted({one.people for one in trained})
    ]  # fmt: skip
    worst = max(
        each, key=lambda one: one.holds["central_node"].value or one.holds["user"].value or 0.0
    ).over(times)  # fmt: skip
    if all(one.certain for one in trained):
        return worst
    unbounded = Level("unprotected", reason="a ledger could not be read whole, or holds an answer without noise")
    holds = {name: unbounded if level.status == "bounded" else level for name, level in worst.holds.items()}
    return replace(worst, holds=holds)


def reference(repeat: Repeat) -> ReferenceTraining:
    """Return the training with the reference's own settings: a device's learning rate is that of another optimiser."""
    own_settings = repeat.setup.settings.reference
    return ReferenceTraining(own_settings, own_settings, partial(without_noise, repeat))


def outcome_of(repeat: Repeat, released: Trained | None, collect: float, train: float, **more: Any) -> Outcome:
    """Return the outcome of a training; chance is measured with the labels of the people who train."""
    setup, null_inputs = repeat.setup, None
    if setup.options.nulls:
        null_inputs = known_from_graph(owned_graph(setup.population, repeat.split, trust="none"), ("label",))
    seconds = {"collect": collect, "reconstruct": 0.0, "train": train}
    return Outcome(seconds, released=released, null_inputs=null_inputs, **more)


def train_devices(repeat: Repeat, collected: Collected) -> Outcome:
    """Run the rounds.

    Raises:
        ValueError: for a dp-fedavg that was killed and has no checkpoint.
        Refused: if no device took part and at least one refused.
        RunFailed: if no device answered.
    """
    setup, state = repeat.setup, repeat.state
    assert state is not None
    task = task_of(setup, repeat.collection, repeat.split)
    start = StartFromVolunteers.of(repeat, task) if cast(Federated, setup.method).starts_from_volunteers else None
    before = read_ledgers(state, repeat.collection)[1].total if repeat.resumed else 0
    state.close()  # the rounds open the ledgers in processes of their own
    file = checkpoint_of(repeat)
    started = time.perf_counter()
    try:
        with open_grid(repeat) as devices, seeded(repeat.seeds.training), watched(repeat.watch):
            training = Training(
                repeat, task, devices.grid, file, before,
                initial=None if start is None else start.weights, loss=None if start is None else start.loss,
            )  # fmt: skip
            weights = training.run()
    except Refused:
        if not before:  # nobody answered: there is no collection to continue
            repeat.end_collection()
        raise
    seconds = time.perf_counter() - started
    tally = training.grid.tally
    lifetime, answers = read_ledgers(state, repeat.collection)
    released = training.released(answers)
    collected = tally.collected(seconds)
    collected.reports = {0: file.digest.digest()}
    section = {
        **training.section(),
        "answers_per_device": {"max": answers.most, "mean": answers.total / max(len(tally.recipients), 1)},
        "answers_lost": max(answers.total - tally.heard, 0),
    }
    if start is None:
        scores = scores_of_task(weights, task, setup.population)
    else:
        scores = start.scores_on_devices(weights)
    return outcome_of(
        repeat, released, training.exchange_seconds, seconds - training.exchange_seconds,
        predictions=scores.argmax(axis=1),
        class_scores=scores,
        model=TwoLayers(weights, task.shape),
        collected=collected,
        lifetime=lifetime,
        phases={name: phase.to_dict() for name, phase in tally.phases.items()},
        extra={"federated": section},
    )  # fmt: skip


def train_silos(repeat: Repeat, collected: Collected) -> Outcome:
    """Store the records in silos and run the rounds, of all silos together or of each one alone."""
    setup, split, seeds = repeat.setup, repeat.split, repeat.seeds
    population, method, training = setup.population, cast(Silos, setup.method), setup.settings.training
    member_of = divide_into_silos(population, method, seeds.split)
    folder = repeat.place("silos")
    silos = _settle(read_records(population.facts, collected), member_of, split, folder, method)
    task = Task(
        repeat.collection, method.spec.sees, population.facts.d, training.hidden,
        population.facts.classes, float(training.lr), method.local_steps, scaling="none",
        weight_decay=float(training.weight_decay), dropout=float(training.gnn_dropout), seed=seeds.training,
        network=method.network,
    )  # fmt: skip
    nodes = list(range(1, method.silos + 1))
    learners = [node for node in nodes if silos[node - 1].training.any()]
    if not learners:
        raise RunFailed("no silo can train: no training person sent a record (all of them dropped out or failed)")
    scores_of = scores_on_graph(task.shape, method.scaling, population) if method.scored_on == "graph" else None
    loss = loss_on(scores_of, split.val, population) if scores_of is not None and method.patience else None
    alone = method.server_optimiser == "none"

    def trained(nodes: list[int], learners: list[int], *more: str) -> tuple[Training, FloatArray]:
        # Other answers (of a device that failed before) make other silos, which need a checkpoint of their own.
        file, grid = checkpoint_of(repeat, collected.reports_sha256, *more), SiloGrid(folder, method.silos)
        training = Training(repeat, task, grid, file, None, nodes=nodes, learners=learners, loss=loss,
                            patience=method.patience)  # fmt: skip
        return training, training.run()

    started = time.perf_counter()
    with engines.quiet_flower(), seeded(seeds.training), watched(repeat.watch):
        by_silo = {node: trained([node], [node], str(node)) for node in learners} if alone else {}
        rounds, weights = by_silo[learners[0]] if alone else trained(nodes, learners)
    tally = rounds.grid.tally
    if not tally.rounds_answered:
        raise RunFailed(f"none of {method.silos} silos answered in {method.rounds} rounds")
    seconds = time.perf_counter() - started - rounds.exchange_seconds
    phases = {} if alone else tally.phases
    handover = Phase(collected.rounds, collected.messages, collected.downlink_bytes, collected.uplink_bytes)
    inside = member_of[population.edges[0]] == member_of[population.edges[1]]
    section = {
        **rounds.section(),
        "silos": method.silos,
        "partition": method.partition,
        "members": [len(silo.members) for silo in silos],
        "edges_inside": float(inside.mean()) if len(inside) else None,
        "bytes_between_silos_and_server": sum(p.downlink_bytes + p.uplink_bytes for p in phases.values()),
        "per_silo": {
            name: {each: getattr(phase, each) / method.silos for each in ("downlink_bytes", "uplink_bytes")}
            for name, phase in phases.items()
        },
    }
    models = [by_silo[node][1] if node in by_silo else None for node in nodes] if alone else [weights] * method.silos
    judged: dict[str, Any]
    if scores_of is None:
        judged = {"predictions": predict_by_silo(silos, folder, task, models, len(population))}
    elif alone:
        predicted = (scores_of(by_silo[node][1]).argmax(axis=1) for node in learners)
        judged = {"accuracy": _mean(evaluation.accuracy(each, population, split) for each in predicted)}
    else:
        judged = {"predictions": scores_of(weights).argmax(axis=1)}
    return outcome_of(
        repeat, None, collected.seconds + rounds.exchange_seconds, seconds,
        model=None if alone else TwoLayers(weights, task.shape),
        collected=collected,
        phases={name: phase.to_dict() for name, phase in {"handover": handover, **phases}.items()},
        **judged,
        extra={"federated": section},
    )  # fmt: skip


def train_alone(repeat: Repeat, collected: Collected) -> Outcome:
    """Train every device's network and score it."""
    setup, split, population = repeat.setup, repeat.split, repeat.setup.population
    task = task_of(setup, "isolate", split)
    started = time.perf_counter()
    inputs = scaled_features(population, task.scaling)
    weights = task.shape.initial(repeat.seeds.training)
    scores = []
    one = SparseRows.one(np.arange(1), np.ones(1, np.float32))
    for start in range(0, len(split.train), _ALONE):
        alone = []
        for person in split.train[start : start + _ALONE].tolist():
            row = slice(inputs.indptr[person], inputs.indptr[person + 1])
            features = SparseRows.one(inputs.indices[row].astype(np.int64), inputs.data[row])
            alone.append(Inputs(features, one, population.labels[person : person + 1]))
        for flat in Stack.of(alone, task).trained(weights):
            predictions = class_scores(task.shape.parts(flat), "own", inputs, population).argmax(axis=1)
            scores.append(evaluation.accuracy(predictions, population, split))
    return outcome_of(
        repeat, None, 0.0, time.perf_counter() - started,
        accuracy=_mean(scores),
        phases={},
        extra={"federated": {"rounds": 0, "rounds_answered": 0, "checkpoint": 0, "trained_on": len(split.train)}},
    )  # fmt: skip


def _mean(scores: Iterable[Mapping[str, float | None]]) -> dict[str, float | None]:
    """Return the mean of each figure over the networks that have it."""
    table, means = list(scores), dict[str, float | None]()
    for name in ("test", "val", "macro_f1"):
        known = [value for one in table if (value := one.get(name)) is not None]
        means[name] = float(np.mean(known)) if known else None
    return means


def task_of(setup: Setup, collection: str, split: Split) -> Task:
    """Return the task of a federated method's devices."""
    method = cast(Federated, setup.method)
    people = len(method.learners(split))
    return method.task(collection, setup.facts, setup.settings.training, setup.budget, people)


def checkpoint_of(repeat: Repeat, *more: str) -> CheckpointFile:
    """Return the checkpoint of a repeat; its key is the set-up, the collection and ``more``."""
    folder = repeat.folder if repeat.setup.options.out is not None else None
    return CheckpointFile(folder, repeat.number, (repeat.setup.digest, repeat.collection, *more))


def _settle(
    records: Mapping[int, Record], member_of: IntArray, split: Split, folder: Path, method: Silos
) -> list[Members]:
    """Create a folder for each silo with the records of its members."""
    learners = np.zeros(len(member_of), bool)
    learners[split.train] = True
    silos = []
    for number in range(method.silos):
        members = np.array([person for person in np.flatnonzero(member_of == number) if person in records], np.int64)
        own = [records[person] for person in members.tolist()]
        values = [each.feature_values / np.float32(size_of(each.feature_values, method.scaling)) for each in own]
        labels = np.array([record.label for record in own], np.int64)
        silo = Members(
            members, *joined_rows([record.feature_indices for record in own], np.int64),
            joined_rows(values, np.float32)[1],
            *joined_rows([record.neighbours for record in own], np.int64),
            labels, learners[members] & (labels >= 0),
        )  # fmt: skip
        silo.save(folder / f"silo-{number}")
        silos.append(silo)
    return silos


def _kind(plan: Callable[[Setup, RepeatPlan], RepeatPlan], train: Callable[[Repeat, Collected], Outcome]) -> RunKind:
    def work(repeat: Repeat, collected: Collected) -> Outcome:
        try:
            return train(repeat, collected)
        except TooManyFailed as error:
            write_atomically(repeat.stopped, str(error))
            raise stopped_for_good(repeat, str(error)) from None

    def shuffled(repeat: Repeat, _: Outcome, others: Others) -> Iterator[tuple[str, Predict]]:
        return work_of_others(work, repeat, others)

    return RunKind(plan, work, guarantee, reference, shuffled)


DEVICES = _kind(plan_of_devices, train_devices)
SILOS = _kind(plan_of_silos, train_silos)
ALONE = _kind(plan_of_alone, train_alone)
