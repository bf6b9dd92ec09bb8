"""Rounds without messages: what a ledger does in one, what others' strategies see of it, and its bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp.strategy import FedAdam, FedAvg, FedMedian, FedProx

from ldpsim.curator.methods import table
from ldpsim.devices import fleet
from ldpsim.devices.client_app import app
from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.federated import participation
from ldpsim.devices.federated.messages import RoundAnswers, RoundQuestions
from ldpsim.devices.federated.wire import WEIGHTS, round_content, weights_record
from ldpsim.devices.network import FloatArray
from ldpsim.devices.policy.policy import policy_for_training
from ldpsim.devices.training_task import Task
from ldpsim.devices.wire import payload_bytes
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.engines.grids import DirectGrid, LocalGrid
from ldpsim.strategies.federated import EVERYBODY, Average, Proximal, ServerAdam
from ldpsim.strategies.rounds.checkpoint import TrainingState, run_rounds
from ldpsim.strategies.rounds.training_grid import TrainingGrid
from ldpsim.strategies.runs.kinds import training
from ldpsim.strategies.seeded import seeded
from tests.fleets import release_states

PEOPLE, D, ROUNDS = 40, 30, 3
TASK = Task("first", "own", D, 4, 3, 0.3, 3)


@pytest.fixture(scope="module")
def people() -> Population:
    return generate(PEOPLE, d=D, classes=3, seed=2, words=6)


@pytest.fixture
def state(people: Population, tmp_path: Path) -> Iterator[State]:
    yield enrol(tmp_path / "state", people, policy_for_training(TASK, people.facts, answers=9), seed=4)
    release_states()


class Connection:
    """A connection that writes down what the ledger does."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.done = inner, list[str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def execute(self, statement: str, *values: Any) -> Any:
        kind = "rows" if "BETWEEN" in statement else statement.split()[0]
        if kind in ("rows", "BEGIN", "COMMIT"):
            self.done.append(kind)
        return self.inner.execute(statement, *values)

    def executemany(self, *given: Any) -> Any:
        self.done.append("insert")
        return self.inner.executemany(*given)


def asked(number: int, devices: Iterable[int]) -> list[Message]:
    config = ConfigRecord({"task": TASK.to_bytes(), "server-round": number})
    content = round_content(weights_record(TASK.shape.initial(3)), config)
    return [Message(content, device + 1, MessageType.TRAIN) for device in devices]


def test_a_round_is_one_read_one_insert_and_one_commit_before_any_reply(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = LocalGrid(state.folder, PEOPLE)
    ledger = grid._fleet.state.ledger(0)
    connection: Any = Connection(ledger._db)
    monkeypatch.setattr(ledger, "_db", connection)
    replies = grid.send_and_receive(asked(1, range(PEOPLE)))
    assert connection.done == ["BEGIN", "rows", "insert", "COMMIT"]
    assert not any(reply.has_error() for reply in replies) and len(list(replies)) == PEOPLE
    connection.done.clear()
    assert len(list(grid.send_and_receive(asked(2, range(PEOPLE))))) == PEOPLE
    assert connection.done == ["BEGIN", "insert", "COMMIT"]  # the ends of the chains are known
    assert [row[:2] for row in ledger.answers()] == [(device, number) for device in range(PEOPLE) for number in (0, 1)]


def test_a_single_device_is_a_batch_of_one(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[list[int]] = []

    def answer(store: Any, devices: Any, *more: Any) -> Any:
        batches.append(list(devices))
        return real(store, devices, *more)

    real = fleet.answer_round
    monkeypatch.setattr(fleet, "answer_round", answer)
    together = LocalGrid(state.folder, PEOPLE).send_and_receive(asked(1, range(PEOPLE)))
    config: Any = {"state-dir": str(state.folder), "partition-id": 3}
    alone = app(asked(2, [3])[0], Context(1, 4, config, RecordDict(), {}))
    assert batches == [list(range(PEOPLE)), [3]]
    weights = [reply.content.array_records["arrays"][WEIGHTS].numpy() for reply in (list(together)[3], alone)]
    assert np.array_equal(weights[0], weights[1])


def test_inputs_are_read_once_a_training(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read again for other devices, for another training, and for weights of another type."""
    reads: list[int] = []

    def stack(records: Any, *more: Any) -> Any:
        reads.append(len(records))
        return real(records, *more)

    real = participation.stack_of
    monkeypatch.setattr(participation, "stack_of", stack)
    grid = LocalGrid(state.folder, PEOPLE)
    for number in range(1, 4):
        grid.send_and_receive(asked(number, range(PEOPLE)))
    assert reads == [PEOPLE]
    grid.send_and_receive(asked(4, range(5)))
    grid.send_and_receive(asked(5, range(5)))
    config = ConfigRecord({"task": replace(TASK, collection="second").to_bytes()})
    wide = weights_record(TASK.shape.initial(3, np.float64))
    for arrays in (weights_record(TASK.shape.initial(3)), wide):
        grid.send_and_receive([Message(round_content(arrays, config), 1, MessageType.TRAIN)])
    assert reads == [PEOPLE, 5, 1, 1]


class EachAlone(DirectGrid):
    """Flower's way: every message goes to the ClientApp of its node."""

    def __init__(self, folder: Path) -> None:
        super().__init__(PEOPLE)
        self.folder = folder

    def deliver(self, messages: Iterable[Message]) -> Iterator[Message]:
        for message in messages:
            node = message.metadata.dst_node_id
            config: Any = {"state-dir": str(self.folder), "partition-id": node - 1}
            yield app(message, Context(1, node, config, RecordDict(), {}))


class Largest(FedAvg):
    """A strategy of somebody else: it changes the messages, and takes the largest number at each place."""

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        for reply in replies:
            (record,) = reply.content.array_records.values()
            record[WEIGHTS] = weights_record(2 * record[WEIGHTS].numpy())[WEIGHTS]
        rows = [next(iter(reply.content.array_records.values()))[WEIGHTS].numpy() for reply in replies]
        return weights_record(np.max(rows, axis=0) / 2), None


STRATEGIES: dict[str, Callable[[], FedAvg]] = {
    "FedAvg": lambda: FedAvg(**EVERYBODY), "FedMedian": lambda: FedMedian(**EVERYBODY),
    "FedProx": lambda: FedProx(**EVERYBODY, proximal_mu=0.5), "FedAdam": lambda: FedAdam(**EVERYBODY, eta=0.02),
    "Largest": lambda: Largest(**EVERYBODY),
}  # fmt: skip


def trained(inner: DirectGrid, strategy: FedAvg) -> FloatArray:
    def nodes(number: int) -> list[int]:
        return [node for node in range(1, PEOPLE + 1) if node % 3 != number % 3]

    with seeded(1):
        start = TrainingState(TASK.shape.initial(1))
        return run_rounds(strategy, TrainingGrid(inner, train=nodes), start, TASK.to_bytes(), rounds=ROUNDS)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_of_somebody_else_gets_messages(name: str, state: State) -> None:
    here = trained(LocalGrid(state.folder, PEOPLE), STRATEGIES[name]())
    alone = trained(EachAlone(state.folder), STRATEGIES[name]())
    assert np.array_equal(here, alone) and np.abs(here - TASK.shape.initial(1)).max() > 1e-3


@pytest.mark.parametrize(("name", "own"), [
    ("FedAvg", lambda: Average(**EVERYBODY)), ("FedProx", lambda: Proximal(**EVERYBODY, proximal_mu=0.5)),
    ("FedAdam", lambda: ServerAdam(**EVERYBODY, eta=0.02)),
])  # fmt: skip
def test_our_strategies_end_with_the_weights_of_flowers(name: str, own: Callable[[], FedAvg], state: State) -> None:
    expected = trained(LocalGrid(state.folder, PEOPLE), STRATEGIES[name]())
    for inner in (LocalGrid(state.folder, PEOPLE), EachAlone(state.folder)):
        assert np.abs(trained(inner, own()) - expected).max() < 1e-6


def test_no_message_is_built_that_nobody_looks_at(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = LocalGrid(state.folder, PEOPLE)
    with monkeypatch.context() as patch:
        patch.setattr("ldpsim.devices.federated.messages.Message", None)
        patch.setattr("ldpsim.devices.federated.messages.AnswerGroup.payload", 0)
        trained(inner, Average(**EVERYBODY))
    grid, content = TrainingGrid(inner, train=lambda r: []), asked(9, [0])[0].content
    questions = RoundQuestions.of([Message(content, node, MessageType.TRAIN) for node in (7, 2)])
    answers = grid.exchange(questions, "more")
    assert [reply.metadata.src_node_id for reply in answers] == answers.nodes == [2, 7]
    assert answers[0] is answers[0] and questions[1] is questions[1]  # a message that was built is kept
    kept = answers[1].content.array_records["arrays"].pop(WEIGHTS).numpy()
    answers[1].content["arrays"] = weights_record(kept + 1)
    found = RoundAnswers.of(answers).updates()
    assert found is not None and found.updates is not None and np.array_equal(found.updates.row(1), kept + 1)


METHODS = [name for name, method in table().items() if method.spec.trained_by in ("devices", "silos")]


@pytest.mark.parametrize("method", METHODS)
def test_bytes_are_those_of_encoded_messages(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    down, up = dict[str, int](), dict[str, int]()

    class Weighing(TrainingGrid):
        def exchange(self, messages: Iterable[Message], phase: str, *more: Any, **named: Any) -> RoundAnswers:
            questions = RoundQuestions.of(messages)
            answers = super().exchange(questions, phase, *more, **named)
            for name, sent in ((down, questions), (up, answers)):
                total = sum(payload_bytes(message.content) for message in sent)
                name[phase] = name.get(phase, 0) + total
            return answers

    monkeypatch.setattr(training, "TrainingGrid", Weighing)
    options = RunOptions(method=method, out=tmp_path, clients=60, reference=False, nulls=False, dropout=0.1,
                         settings={"rounds": "3"})  # fmt: skip
    record = simulate(options).record
    phases = record["communication"]["by_phase"]
    phases.pop("handover", None)
    assert {name: phase["downlink_bytes"] for name, phase in phases.items()} == {k: v for k, v in down.items() if v}
    assert {name: phase["uplink_bytes"] for name, phase in phases.items()} == {k: v for k, v in up.items() if v}
