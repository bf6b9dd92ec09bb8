"""A collector on the simulator's network: the real ``CollectOnce`` and ``ask_rounds``, killed and continued.

The network loses messages, doubles them, hands replies over in another order, and delivers some questions much later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from flwr.app import Context, Error, Message, RecordDict

from ldpsim.curator.methods.base import Budget, LocalMethod, MethodSpec
from ldpsim.curator.methods.base import Question as Asking
from ldpsim.curator.privacy.guarantee import Claim, local_guarantee
from ldpsim.curator.reports.question import at_stage, stages_of
from ldpsim.curator.reports.rounds import RoundSteps
from ldpsim.devices import client_app
from ldpsim.devices.device import Refusal
from ldpsim.devices.facts import PublicKnowledge, Split
from ldpsim.devices.report import Report
from ldpsim.strategies.rounds.collect_once import Collected, CollectOnce, run_collection
from ldpsim.strategies.rounds.several_rounds import ask_rounds
from tests.faults.computers import Plan, Process
from tests.faults.disk import Died
from tests.faults.hosts import Copy, Mail
from tests.faults.judge import Violation
from tests.faults.life import Life
from tests.faults.questions import GROUPINGS, N, Question, query_of, terms_for
from tests.faults.world import HOSTS, PEOPLE

MACHINE = "k"
_LEVELS = {"adjacency": "relationship", "features": "bit_feature", "label": "label"}


class ByAnswers(LocalMethod):
    """A method whose second grouping depends on how many people answered the first stage."""

    spec = MethodSpec(name="by-answers")

    def rounds(self, public: PublicKnowledge, budget: Budget, planned: Sequence[Asking]) -> RoundSteps:
        reports = yield tuple(planned)
        if stages_of(planned) > 1:
            yield at_stage(planned, 1, GROUPINGS[int(reports.answered.sum()) % len(GROUPINGS)])


@dataclass
class Collection:
    """A collection of a schedule.

    Args:
        question: What it asks, at its first stage.
        groupings: Numbers of the groupings that were ever sent.
        disturbed: Whether the network lost a message of it, or a device did not report.
        killed: How often its collector was killed.
    """

    question: Question
    groupings: set[int] = field(default_factory=set)
    disturbed: bool = False
    killed: int = 0
    ended: Collected | None = None


class Net:
    """A grid of Flower that carries messages to the schedule's hosts.

    Args:
        life: The schedule.
        collection: The collection.
        rng: Decides about the network; None: nothing is lost.
        collector: The process that asks.
        dies_at: Number of the message before which the collector dies, 0: never.
    """

    def __init__(
        self, life: Life, collection: Collection, rng: Random | None, collector: Process, dies_at: int
    ) -> None:
        self.life, self.collection, self.rng, self.collector = life, collection, rng, collector
        self.sent, self.dies_at = 0, dies_at

    def send_and_receive(self, messages: Any, *, timeout: float | None = None) -> Iterator[Message]:
        asked = list(messages)
        if self.rng is not None:
            self.rng.shuffle(asked)
        replies = []
        for message in asked:
            self.sent += 1
            if self.sent == self.dies_at:
                self.life.computers.kill(self.collector)
                raise Died
            replies += self._carry(message)
        if self.rng is not None:
            self.rng.shuffle(replies)
        return iter(replies)

    def _carry(self, message: Message) -> list[Message]:
        life, person = self.life, message.metadata.dst_node_id - 1
        copy = life.copies[next(name for name, residents in HOSTS.items() if person in residents)]
        mail = self._mail(copy, person, message)
        way = 1.0 if self.rng is None else self.rng.random()
        if way < 0.08:
            self.collection.disturbed = True
            life.faults += 1
            if way < 0.04:
                life.mail.append(mail)  # it comes much later
            return []
        replies = [self._delivered(copy, person, mail, message) for _ in range(2 if way < 0.16 else 1)]
        if 0.16 < way < 0.2:
            self.collection.disturbed = True
            return []
        return replies

    def _mail(self, copy: Copy, person: int, message: Message) -> Mail:
        data = message.content["query"]["query"]
        assert isinstance(data, bytes)
        first, stage = self.collection.question, 0
        if first.staged and b'"stage":1' in data:
            stage = 1
            grouping = next(
                k for k, groups in enumerate(GROUPINGS) if str(list(groups)).replace(" ", "").encode() in data
            )
            self.collection.groupings.add(grouping)
            if len(self.collection.groupings) > 1:
                raise Violation("the collector sent two groupings of one stage")
            first = Question(first.collection, first.asks, staged=True, stage=stage, grouping=grouping)
        return Mail(copy.name, person, first, data, "")

    def _delivered(self, copy: Copy, person: int, mail: Mail, message: Message) -> Message:
        life = self.life
        process = life.process(copy, self.rng or Random(0))
        found: list[Message] = []

        def serve() -> list[Report | Refusal]:
            config: Any = {"state-dir": str(copy.folder), "partition-id": person}
            found.append(client_app.app(message, Context(1, person + 1, config, RecordDict(), {})))
            return [life.read(found[0])]

        outcomes = life.ask(copy, process, [person], mail, serve)
        life.judged(copy, process, [person], mail, outcomes, "")
        self.collection.disturbed |= not outcomes[0].reports
        return found[0] if found else Message(Error(0, "no reply"), reply_to=message)


def collect(life: Life, rng: Random | None) -> None:
    """Begin the schedule's collection, or go on with it; the collector may die at any message or write."""
    collection = life.collection
    if collection is None:
        collection = life.collection = Collection(life.main)
    collector = Process(MACHINE, "the collector")
    dies_at = rng.randrange(1, 14) if rng is not None and rng.random() < 0.6 else 0
    net = Net(life, collection, rng, collector, dies_at)
    disk = life.world.disks.disk(MACHINE)
    asking, folder = Asking(query_of(collection.question)), disk.root / "kept"
    nobody = np.zeros(0, np.int64)
    public = PublicKnowledge(PEOPLE[0].facts, Split(nobody, nobody, nobody), np.full(N, -1))
    terms = terms_for(collection.question) if life.setting.signed else None

    def work() -> Collected:
        def ask(questions: Sequence[Asking]) -> Collected:
            return run_collection(CollectOnce(questions, range(1, N + 1), terms=terms), net)  # type: ignore[arg-type]

        return ask_rounds(ByAnswers(), public, Budget(), [asking], folder, ask)

    plan = None
    if rng is not None and rng.random() < 0.3:
        plan = Plan(rng.randrange(1, 9), lambda: life.computers.kill(collector), writes_alone=True)
    life.tell("the collector asks everybody")
    found = life.computers.run(collector, work, plan)
    if collector.dead or found is None:
        collection.killed += 1
        life.faults += 1
        life.tell("the collector is dead")
        life.computers.bury(collector)
        if rng is not None and rng.random() < 0.5:
            life.tell(f"power is gone at the collector; {disk.lose_power(rng)}")
        return
    _check_counts(found)
    collection.ended = found


def _check_counts(found: Collected) -> None:
    """Check that every person who was asked is counted once."""
    counted = found.reported + found.replayed + sum(found.refused.values()) + found.silent
    if not found.asked == N or counted > N or len(found.reports) > N:
        raise Violation(f"the collector counts {counted} of {N} people")


def finish(life: Life) -> None:
    """Let a collection that was begun end without further faults, and compare it with an undisturbed one."""
    collection = life.collection
    if collection is None:
        return
    collect(life, None)
    found = collection.ended
    if found is None:
        raise Violation("a collection that nothing disturbs does not end")
    expected = _bytes_that_left(life, collection)
    if any(lineage.free or lineage.changed or lineage.loose for lineage in life.judge.lineages.values()):
        return
    for person, data in found.reports.items():
        if data != expected.get(person):
            raise Violation(f"the collector ends with other bytes of device {person} than those that left it")
    if not collection.disturbed and not life.twin:
        what = life.setting, collection.question, frozenset(collection.groupings)
        if life.world.undisturbed.setdefault(what, found.reports) != found.reports:
            raise Violation("the collection ends in another way than an undisturbed one")
    _check_holds(life, collection)


def _check_holds(life: Life, collection: Collection) -> None:
    """Check that what the product says of the loss is at least what the replies reveal, on paper."""
    asked = [Asking(query_of(collection.question))]
    holds = local_guarantee(PEOPLE[0].facts, asked, claim=Claim("none", None)).holds
    for person in range(N):
        spent = life.judge.spent.get(person, {})
        for name, budget in collection.question.asks:
            said, own = holds[_LEVELS[name]].value, budget * (2 if collection.question.staged else 1)
            if said is None or said < min(own, spent.get(name, 0.0)) - 1e-9:
                raise Violation(f"holds says {said} about {name}, and the reply of device {person} reveals {own}")


def _bytes_that_left(life: Life, collection: Collection) -> dict[int, bytes]:
    """Return the reports that the judge saw, as a collector joins them."""
    found: dict[int, bytes] = {}
    stages: Sequence[tuple[int, int]] = [(0, -1)]
    if collection.question.staged:
        stages = [*stages, *((1, grouping) for grouping in collection.groupings)]
    for person in range(N):
        joined = b""
        for stage, grouping in stages:
            keys = [(person, name, stage, (budget, collection.question.staged, grouping))
                    for name, budget in collection.question.asks]  # fmt: skip
            if all(key in life.judge.same for key in keys):
                pieces = [life.judge.same[key] for key in keys]
                joined += b"".join(len(piece).to_bytes(4, "little") + piece for piece in pieces)
        found[person] = joined
    return found
