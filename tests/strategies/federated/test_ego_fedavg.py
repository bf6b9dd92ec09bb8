"""Devices that see their neighbours: rows are forwarded, also to a device without neighbours or one heard late."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message, RecordDict

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.federated.messages import RoundAnswers
from ldpsim.devices.federated.wire import record_of, round_reply, weights_record
from ldpsim.devices.policy.policy import policy_for_training
from ldpsim.devices.training_task import Task
from ldpsim.devices.wire import EXCHANGE_TYPE
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.federated import EgoFedAvg
from ldpsim.strategies.rounds.checkpoint import TrainingState, run_rounds
from ldpsim.strategies.rounds.training_grid import TrainingGrid

PEOPLE, HIDDEN = 60, 3
TASK = Task("first", "ego", 40, HIDDEN, 3, 0.3, 2, scaling="unit")


@pytest.fixture(scope="module")
def people() -> Population:
    return generate(PEOPLE, d=40, classes=3, seed=2, mean_degree=2.0, words=6)


@pytest.fixture
def devices(people: Population, tmp_path: Path) -> LocalGrid:
    enrol(tmp_path / "state", people, policy_for_training(TASK, people.facts, answers=3), seed=4).close()
    return LocalGrid(tmp_path / "state", PEOPLE)


def neighbours(people: Population, node: int) -> list[int]:
    return [other + 1 for other in people.record(node - 1).neighbours.tolist()]


def rows_of(strategy: EgoFedAvg, node: int) -> np.ndarray:
    own = strategy.own(node, "float32")
    return own["rows"].numpy()


def test_everybody_tells_its_neighbours_once_also_one_that_is_heard_late_or_has_none(
    people: Population, devices: LocalGrid
) -> None:
    nodes = list(range(1, PEOPLE + 1))
    (alone, *_) = [node for node in nodes if not neighbours(people, node)]
    late, silent = [node for node in nodes if len(neighbours(people, node)) > 1][:2]

    class Late(TrainingGrid):
        def drops(self, node: int, number: int) -> bool:
            return super().drops(node, number) or (node == late and number == 0)

    grid = Late(devices, train=lambda r: nodes[::2], dropouts=frozenset({silent}))
    strategy = EgoFedAvg(nodes, TASK)
    start = TASK.shape.initial(3)
    strategy.subscribe(grid, weights_record(start))
    assert rows_of(strategy, alone).size == 0
    assert strategy.own(late, "float32") is None is strategy.own(silent, "float32")
    run_rounds(strategy, grid, TrainingState(start), TASK.to_bytes(), rounds=2)
    assert strategy.neighbours == {node: neighbours(people, node) for node in nodes if node != silent}
    assert set(strategy.sent) == set(nodes) - {silent}
    assert not grid.tally.failed and not grid.tally.refused
    rows = rows_of(strategy, late).reshape(-1, 2 * HIDDEN)
    assert len(rows) == len(neighbours(people, late))
    for row, other in zip(rows, neighbours(people, late), strict=True):
        assert np.array_equal(row, strategy.sent.get(other, np.zeros(2 * HIDDEN)))


def test_a_neighbour_that_is_no_node_is_left_out() -> None:
    strategy = EgoFedAvg([1, 2, 3], replace(TASK, hidden=1))
    asked = [Message(RecordDict({"x": ConfigRecord({"x": 1})}), node, EXCHANGE_TYPE) for node in (3, 2)]
    listed = np.array([0, 2, 3, 90], np.int32)
    sent = [record_of(values=np.float32([v, v]), neighbours=listed) for v in (3.0, 2.0)]
    replies = [round_reply(message, others=data) for data, message in zip(sent, asked, strict=True)]
    strategy._keep(RoundAnswers.of(replies), "float32")
    assert {node: values.tolist() for node, values in strategy.sent.items()} == {3: [3.0, 3.0], 2: [2.0, 2.0]}
    assert strategy.neighbours == {3: [1, 3], 2: [1, 3]}
