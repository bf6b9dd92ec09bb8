"""A training job: read as it was written, and run on a Grid as Flower's runtime would."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Message

from ldpsim.devices.client_app import release_states
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.federated.wire import weights_record
from ldpsim.devices.policy.policy import policy_for_training
from ldpsim.devices.training_task import Task
from ldpsim.strategies.engines.flower_job import load_failure
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.federated.fedavg import EVERYBODY, FedAvg
from ldpsim.strategies.flower_app.training_job import TrainingJob, is_training, run_training
from ldpsim.strategies.rounds.flower_rounds import run_rounds
from ldpsim.strategies.rounds.replies import TooManyFailed
from ldpsim.strategies.rounds.training_grid import TrainingGrid
from ldpsim.strategies.server_app import run_job

PEOPLE, ROUNDS = 12, 2


def test_a_job_is_run_as_the_rounds_are_elsewhere(tmp_path: Path) -> None:
    people = generate(PEOPLE, d=20, classes=3, seed=2, mean_degree=2.0, words=6)
    task = Task("first", "own", 20, 3, 3, 0.3, 2)
    job = TrainingJob(task, task.shape.initial(1), PEOPLE, ROUNDS, timeout=5.0)
    found = []
    for name in ("job", "elsewhere"):
        folder = tmp_path / name
        enrol(folder, people, policy_for_training(task, people.facts, answers=ROUNDS), seed=4).close()
        grid = LocalGrid(folder, PEOPLE)
        if name == "job":
            assert not is_training(tmp_path)
            job.save(tmp_path)
            assert is_training(tmp_path)
            read = TrainingJob.load(tmp_path)
            assert (read.task, read.nodes, read.rounds, read.timeout) == (task, PEOPLE, ROUNDS, 5.0)
            run_training(grid, tmp_path)
            found.append(np.load(tmp_path / "trained.npy"))
        else:
            rounds = TrainingGrid(grid, train=lambda number: list(range(1, PEOPLE + 1)))
            found.append(run_rounds(FedAvg(**EVERYBODY), rounds, job.weights, task.to_bytes(), rounds=ROUNDS))
        release_states()
    assert np.array_equal(found[0], found[1]) and not np.array_equal(found[0], job.weights)
    told = json.loads((tmp_path / "trained.json").read_text())
    assert told["answered"] == PEOPLE and len(told["round_seconds"]) == ROUNDS


def test_a_job_whose_nodes_fail_says_so_and_asks_nobody_again(tmp_path: Path) -> None:
    people = generate(PEOPLE, d=20, classes=3, seed=2, mean_degree=2.0, words=6)
    task = Task("first", "own", 20, 3, 3, 0.3, 2)
    enrol(tmp_path / "state", people, policy_for_training(task, people.facts, answers=9), seed=4).close()
    TrainingJob(task, task.shape.initial(1), PEOPLE, ROUNDS, timeout=5.0).save(tmp_path)
    asked = []

    class Lying(LocalGrid):
        def deliver(self, messages: Iterable[Message]) -> Iterator[Message]:
            for reply in super().deliver(messages):
                asked.append(reply)
                if "arrays" in reply.content:
                    reply.content["arrays"] = weights_record(np.full(task.shape.size, np.inf, np.float32))
                yield reply

    for _ in range(2):
        before = [reply for reply in asked if reply.has_content() and "arrays" in reply.content]
        with pytest.raises(TooManyFailed):
            run_job(Lying(tmp_path / "state", PEOPLE), tmp_path)
        line = load_failure(tmp_path)
        assert line is not None and line.startswith(
            "12 of 12 failed in round 1, training (node 1: the weights are too "
        )
    assert len(before) == PEOPLE == len([reply for reply in asked if "arrays" in reply.content])
    release_states()
