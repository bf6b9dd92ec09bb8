"""Run of ``isolate``: every training device trains alone and sends nothing."""

from __future__ import annotations

import time

import numpy as np

from ldpsim.curator.methods import Question
from ldpsim.devices.federated.local_steps import Inputs, SparseRows, Stack
from ldpsim.devices.policy.policy import Policy
from ldpsim.strategies.results import evaluation
from ldpsim.strategies.results.outcome import Outcome
from ldpsim.strategies.runs.federated import InRounds, label_counts, phase_seconds, task_of
from ldpsim.strategies.runs.federated_network import scaled_features
from ldpsim.strategies.runs.run import RepeatContext
from ldpsim.strategies.setup.run_setup import RunSetup

_ALONE = 64  # networks trained at once


class IsolatedRun(InRounds):
    """One network a training device; the accuracy is the mean of theirs on the other people."""

    def policy(self, setup: RunSetup, questions: tuple[Question, ...]) -> Policy | None:
        """Nobody is asked."""
        return None

    def train(self, scene: RepeatContext) -> Outcome:
        """Train every device's network and score it."""
        setup, split, population = scene.setup, scene.split, scene.setup.population
        task = task_of(setup, "isolate")
        started = time.perf_counter()
        inputs = scaled_features(population, task.scaling)
        weights = task.shape.initial(scene.seeds.training)
        scores: dict[str, list[float]] = {"test": [], "val": [], "macro_f1": []}
        indptr, columns, values = inputs.indptr, inputs.indices, inputs.data
        one = SparseRows.one(np.arange(1), np.ones(1, np.float32))
        for start in range(0, len(split.train), _ALONE):
            people = split.train[start : start + _ALONE]
            rows = [slice(indptr[person], indptr[person + 1]) for person in people]
            alone = [
                Inputs(
                    SparseRows.one(columns[row].astype(np.int64), values[row]),
                    one,
                    population.labels[person : person + 1],
                )
                for row, person in zip(rows, people, strict=True)
            ]
            for flat in Stack(alone, task).train(weights):
                w1, b1, w2, b2 = task.shape.parts(flat)
                predictions = (np.maximum(inputs @ w1 + b1, 0) @ w2 + b2).argmax(axis=1)
                for name, value in evaluation.accuracy(predictions, population, split).items():
                    if value is not None:
                        scores[name].append(value)
        return Outcome(
            guarantee=self.guarantee_of(setup, [None]),
            released=None,
            seconds=phase_seconds(0.0, time.perf_counter() - started),
            accuracy={name: float(np.mean(found)) if found else None for name, found in scores.items()},
            known=label_counts(scene),
            phases={},
            extra={"federated": {"rounds": 0, "rounds_answered": 0, "checkpoint": 0, "trained_on": len(split.train)}},
        )
