"""A repeat of ``isolate``: every training device alone, sending nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from curator.methods.federated.fedavg import Isolate
from devices.facts import Split
from devices.federated.batched_steps import Stack
from devices.federated.local_steps import Inputs
from devices.training_task import Task
from strategies.results import evaluation
from strategies.results.lifetime import nothing_known
from strategies.results.record import NO_GRAPH, Repeat
from strategies.rounds.collect_once import Collected
from strategies.runs.federated_prediction import scaled_features
from strategies.runs.reference import reference_accuracy
from strategies.setup.options import Seeds
from strategies.setup.run_setup import Plan

_ALONE = 64  # networks trained at once


def isolated_repeat(plan: Plan, seeds: Seeds, split: Split, method: Isolate, task: Task) -> Repeat:
    """Run one repeat: mean accuracy of each training device's network on the other people.

    Args:
        plan: The run.
        seeds: Of the initial weights.
        split: Who trains, and who is scored.
        method: What it guarantees.
        task: Network and local steps.
    """
    population = plan.population
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
        reference = reference_accuracy(plan, split, seeds.training)
    accuracy: Mapping[str, float | None] = {
        name: float(np.mean(found)) if found else None for name, found in scores.items()
    }
    return Repeat(
        seeds=seeds, split=split, accuracy=accuracy, reference=reference,
        guarantee=method.guarantee(population.facts, (), plan.budget), collected=Collected(),
        lifetime=nothing_known(complete=True), state=None, reconstruction=NO_GRAPH,
        seconds={"collect": 0.0, "reconstruct": 0.0, "train": seconds}, trained=None, lp_and_test=None, seeded=None,
        federated={"rounds": 0, "rounds_answered": 0, "checkpoint": 0, "trained_on": len(split.train)}, phases={},
    )  # fmt: skip
