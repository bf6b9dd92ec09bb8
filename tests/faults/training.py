"""Schedules of federated trainings under local noise: rounds, repeated and forged questions, and a killed collector.

The devices are those of ``ldp-fedavg``: alone, or in a fleet that computes a round for all of them at once. The
collector is the real ``Training`` with its checkpoint, under Flower's ``Strategy.start``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
from flwr.app import ConfigRecord, Context, Message, MessageType, RecordDict

from ldpsim.curator.methods import find
from ldpsim.curator.methods.base import Budget
from ldpsim.devices import client_app, wire
from ldpsim.devices.device import Refusal
from ldpsim.devices.facts import Split
from ldpsim.devices.federated.wire import ATTEMPT, WEIGHTS, read_round, round_content, weights_record
from ldpsim.devices.fleet import Fleet
from ldpsim.devices.network import FloatArray
from ldpsim.devices.report import Report
from ldpsim.devices.training_task import GaussianUpdate, Task
from ldpsim.strategies.rounds.checkpoint import CheckpointFile
from ldpsim.strategies.runs.errors import Refused
from ldpsim.strategies.runs.kinds.training import Training
from tests.faults.audit import rows_of
from tests.faults.collecting import MACHINE, Net
from tests.faults.computers import Plan, Process
from tests.faults.hosts import Copy, Mail
from tests.faults.judge import Violation
from tests.faults.life import Life
from tests.faults.questions import CAP, CLASSES, HONEST, TRAINING, D, N, Question, bytes_of
from tests.faults.steps import ACTIONS, settle
from tests.faults.world import HOSTS, PEOPLE, Setting, World

TRAININGS = tuple(Setting(counter, training=True) for counter in ("file", "server", ""))
ROUNDS = 3
_QUESTIONS = tuple(
    Question(collection, ((TRAINING, budget),), stage=number, grouping=0)
    for collection in ("first", "second") for budget in (1.0, 2.0) for number in (1, 2, 3)
)  # fmt: skip
_HOSTILE = (
    ("a budget beyond the cap", "POLICY_REFUSED"), ("an evaluation", "POLICY_REFUSED"),
    ("weights of another size", "UNKNOWN_QUERY"), ("weights that are no numbers", "UNKNOWN_QUERY"),
    ("a report", "MODE_REFUSED"),
)  # fmt: skip


@cache
def task_of(collection: str, budget: float) -> Task:
    """Return the task of a training."""
    noise = GaussianUpdate.from_epsilon(budget, clip=0.5, delta=1e-3)
    return Task(collection, "own", D, 1, CLASSES, 0.3, 1, noise=noise)


class TrainLife(Life):
    """A schedule of trainings; the arguments are those of :class:`tests.faults.life.Life`."""

    doors = ("device", "together")
    questions = _QUESTIONS

    def __init__(self, world: World, setting: Setting, seed: int, *, twin: bool = False) -> None:
        super().__init__(world, setting, seed, twin=twin)
        self.models: list[tuple[FloatArray, int]] = [(task_of("first", 1.0).shape.initial(1), 0)]  # and attempts
        self.marks: dict[Question, bytes] = {}
        self.training: Rounds | None = None

    def content(self, question: Question) -> tuple[str, RecordDict]:
        """Return kind and content of the message with a question."""
        if question.fault == "a report":
            return wire.QUERY_TYPE, RecordDict({"query": ConfigRecord({"query": bytes_of(HONEST[0])})})
        weights, attempt = self.models[question.grouping]
        if question.fault == "weights of another size":
            weights = weights[:-1]
        if question.fault == "weights that are no numbers":
            weights = weights * np.float32(np.nan)
        told: dict[str, Any] = {"task": task_of(question.collection, question.asks[0][1]).to_bytes()}
        told |= {"server-round": question.stage, **({ATTEMPT: attempt} if attempt else {})}
        kind = MessageType.EVALUATE if question.fault == "an evaluation" else MessageType.TRAIN
        return kind, round_content(weights_record(weights), ConfigRecord(told))

    def mark(self, question: Question, name: str) -> bytes:
        """Return the question's digest: the ledger keeps no updates."""
        if question not in self.marks:
            _, content = self.content(question)
            self.marks[question] = read_round(content).question()
        return self.marks[question]

    def kept(self, data: bytes) -> bytes:
        """Return nothing: an update is not kept."""
        return b""

    def letter(self, rng: Random, copy: Copy, person: int) -> Mail:
        """Return a round: mostly the schedule's own, at times another or a hostile one."""
        kind = rng.random()
        if kind > 0.9:
            return self.hostile(rng, copy, person)
        return self.mail_of(copy, person, self.main if kind < 0.4 else rng.choice(_QUESTIONS))

    def mail_of(self, copy: Copy, person: int, question: Question) -> Mail:
        """Return the honest message with a question."""
        return Mail(copy.name, person, question, b"", "")

    def hostile(self, rng: Random, copy: Copy, person: int) -> Mail:
        """Return a message that every device refuses."""
        fault, code = rng.choice(_HOSTILE)
        budget = 20.0 if code == "POLICY_REFUSED" and fault != "an evaluation" else 1.0
        return Mail(copy.name, person, Question("first", ((TRAINING, budget),), stage=1, grouping=0, fault=fault), b"",
                    code)  # fmt: skip

    def doors_of_two(self, rng: Random) -> tuple[str, str]:
        """Return the doors of two processes that are asked at once: each alone, or as a fleet of one."""
        return rng.choice(self.doors), rng.choice(self.doors)

    def _served(
        self, copy: Copy, process: Process, people: Sequence[int], mail: Mail, door: str | Callable[[], list[Any]]
    ) -> Any:
        if not isinstance(door, str):
            return door()
        kind, content = self.content(mail.question)
        messages = [Message(content, person + 1, kind) for person in people]
        if door == "together":
            replies = {
                reply.metadata.src_node_id - 1: reply
                for reply in Fleet(self.world.state_of(process, str(copy.folder))).answer(messages)
            }
            return [self.read(replies[person]) for person in people]
        return [self.read(client_app.app(message, _context(copy, person)))
                for message, person in zip(messages, people, strict=True)]  # fmt: skip

    def read(self, message: Message) -> Report | Refusal:
        """Return what a device's message says; an update counts as a report."""
        if message.has_error():
            return super().read(message)
        data = b"".join(record[WEIGHTS].numpy().tobytes() for record in message.content.array_records.values())
        return Report(len(data).to_bytes(4, "little") + data, replayed=False)


def _context(copy: Copy, person: int) -> Context:
    config: Any = {"state-dir": str(copy.folder), "partition-id": person}
    return Context(1, person + 1, config, RecordDict(), {})


# --- the collector --------------------------------------------------------------------------------


@dataclass
class Rounds:
    """The training of a schedule, for the network that carries it.

    Args:
        task: What it asks.
        begun: The last round that a device was asked for.
        disturbed: Whether the network lost a message of it.
    """

    task: Task
    begun: int = 0
    disturbed: bool = False


class TrainNet(Net):
    """A grid that carries the rounds of a training; the arguments are those of :class:`tests.faults.collecting.Net`."""

    life: TrainLife
    collection: Any

    def _mail(self, copy: Copy, person: int, message: Message) -> Mail:
        asked = read_round(message.content)
        assert asked.weights is not None
        self.collection.begun = max(self.collection.begun, asked.number)
        model = _number_of(self.life.models, asked.weights, asked.attempt)
        question = Question("first", ((TRAINING, 1.0),), stage=asked.number, grouping=model)
        if self.life.mark(question, TRAINING) != asked.question():
            raise Violation(f"the collector sends another question than {question}")
        return self.life.mail_of(copy, person, question)


def _number_of(models: list[tuple[FloatArray, int]], weights: FloatArray, attempt: int) -> int:
    for number, (known, before) in enumerate(models):
        if before == attempt and known.dtype == weights.dtype and known.tobytes() == weights.tobytes():
            return number
    models.append((weights.copy(), attempt))
    return len(models) - 1


def train(life: TrainLife, rng: Random | None) -> None:
    """Begin the schedule's training, or go on with it; the collector may die at any message or write."""
    rounds = life.training = life.training or Rounds(task_of("first", 1.0))
    collector = Process(MACHINE, "the collector")
    dies_at = rng.randrange(1, 14) if rng is not None and rng.random() < 0.5 else 0
    net = TrainNet(life, rounds, rng, collector, dies_at)  # type: ignore[arg-type]
    disk = life.world.disks.disk(MACHINE)
    (disk.root / "kept").mkdir(exist_ok=True)

    def work() -> str:
        kept = CheckpointFile(disk.root / "kept", 0, ("training", "first"))
        found = kept.load()
        if rounds.begun > (0 if found is None else found.done + 1):
            done = "no checkpoint" if found is None else f"a checkpoint after round {found.done}"
            raise Violation(f"the collector asked for round {rounds.begun}, and has {done}")
        before = sum(_answers(life, life.copies[host]) for host in HOSTS)
        training = Training(_repeat(), rounds.task, net, kept, before)  # type: ignore[arg-type]
        try:
            weights = training.run()
        except Refused as error:
            return str(error)
        if not np.all(np.isfinite(weights)) or max(training.grid.tally.answered.values(), default=0) > CAP:
            raise Violation("the training ends with weights that are no numbers, or too many answers of one device")
        return "ended"

    plan = None
    if rng is not None and rng.random() < 0.5:
        plan = Plan(rng.randrange(1, 30), lambda: life.computers.kill(collector), writes_alone=True)
    life.tell("the collector trains")
    said = life.computers.run(collector, work, plan)
    if not collector.dead:
        life.tell(f"the training: {said}")
        return
    life.faults += 1
    life.tell("the collector is dead")
    life.computers.bury(collector)
    if rng is not None and rng.random() < 0.5:
        life.tell(f"power is gone at the collector; {disk.lose_power(rng)}")


def _answers(life: Life, copy: Copy) -> int:
    """Return how many answers to the training a host's ledger has; none where it cannot be read."""
    if life.judge.lineages[copy.name[0]].loose:
        return 0
    return sum(row.collection == "first" for rows in rows_of(life, copy).values() for row in rows)


@cache
def _method() -> Any:
    return find("ldp-fedavg")(rounds=ROUNDS, fraction=1.0)


def _repeat() -> Any:
    """Return what ``Training`` reads of a repeat of a run."""
    options = SimpleNamespace()
    setup = SimpleNamespace(method=_method(), population=PEOPLE[0], budget=Budget(1.0), options=options)
    everybody, nobody = np.arange(N), np.zeros(0, np.int64)
    return SimpleNamespace(
        setup=setup, split=Split(everybody, nobody, nobody), seeds=SimpleNamespace(training=1, split=1),
        plan=SimpleNamespace(dropouts=frozenset()), tell=lambda *what: None,
    )  # fmt: skip


def settle_training(life: TrainLife, rng: Random) -> None:
    """End a schedule as others do; a training that was begun goes on first, and nothing disturbs it."""
    settle(life, rng)
    if life.training is not None:
        train(life, None)


TRAIN_ACTIONS: dict[str, tuple[float, Any]] = {
    **{name: action for name, action in ACTIONS.items() if name != "collect"}, "train": (1.5, train),
}  # fmt: skip
