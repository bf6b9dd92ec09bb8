"""Grid between Flower's strategies and the devices. It picks each round's nodes and counts traffic.

Flower's FedAvg samples from the nodes that its Grid names. This grid names only the devices
of the next round. So the sample is seeded and known to the accountant, and Flower's
strategies need no change. The grid counts encoded payload bytes by phase. It counts each
device once, as answered, refused, silent or failed. It passes on valid replies only
(:mod:`ldpsim.strategies.rounds.replies`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType
from flwr.serverapp import Grid
from scipy.sparse import csr_array

from ldpsim.curator.linear.propagation import adjacency_matrix, gcn_matrix
from ldpsim.devices.device import Refusal
from ldpsim.devices.federated.exchange import Shared, read_contribution, rows_record
from ldpsim.devices.federated.local_steps import SparseRows
from ldpsim.devices.federated.messages import AnswerGroup, QuestionGroup, RoundAnswers, RoundQuestions
from ldpsim.devices.federated.update_adder import UpdateAdder
from ldpsim.devices.federated.wire import WEIGHTS, round_content
from ldpsim.devices.training_task import Task
from ldpsim.devices.wire import EXCHANGE_TYPE, RECEIVE_TYPE, read_reply
from ldpsim.strategies.progress import warn
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.rounds.replies import Replies

_WARNED = 10  # parties that failed, of which the standard error has a line; the log has all
log = logging.getLogger("ldpsim")
Sampler = Callable[[int], Sequence[int]]


def draw_nodes(nodes: Sequence[int], share: float, seed: Sequence[int] | np.random.Generator) -> Sequence[int]:
    """Draw a fixed number of nodes without replacement, at least one; all of them for a share of 1."""
    wanted = max(1, round(share * len(nodes)))
    if wanted == len(nodes):
        return nodes
    return sorted(np.random.default_rng(seed).choice(nodes, wanted, replace=False).tolist())


@dataclass
class Phase:
    """Cost of one phase of a training."""

    rounds: int = 0
    messages: int = 0
    downlink_bytes: int = 0
    uplink_bytes: int = 0

    def to_dict(self) -> dict[str, int]:
        """Return JSON-ready values."""
        return dict(vars(self))


@dataclass
class RoundTally:
    """Counts of a training: the outcome for each device, and the cost of each phase.

    Args:
        recipients: Nodes that were sent a message.
        answered: Number of answers by node.
        refused: Code of the last refusal by node.
        failed: What was wrong, at first, with the reply of a node that sent something else than an answer or a refusal.
        phases: Costs by name of the phase.
        rounds_answered: Number of training rounds with at least one answer.
        heard: Number of answers that arrived and that have a row in a ledger.
    """

    recipients: set[int] = field(default_factory=set)
    answered: Counter[int] = field(default_factory=Counter)
    refused: dict[int, str] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    phases: dict[str, Phase] = field(default_factory=dict)
    rounds_answered: int = 0
    heard: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "asked": sorted(self.recipients), "answered": sorted(self.answered.items()),
            "refused": sorted(self.refused.items()), "failed": sorted(self.failed.items()),
            "phases": {name: phase.to_dict() for name, phase in self.phases.items()},
            "rounds_answered": self.rounds_answered, "heard": self.heard,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RoundTally:
        """Read :meth:`to_dict` back."""
        phases = {name: Phase(**phase) for name, phase in values["phases"].items()}
        return cls(
            set(values["asked"]), Counter(dict(values["answered"])), dict(values["refused"]), dict(values["failed"]),
            phases, values["rounds_answered"], values["heard"],
        )  # fmt: skip

    def collected(self, seconds: float) -> Collected:
        """Return the counts as a result lists them. A device that answered at least once has reported."""
        refused = Counter(code for node, code in self.refused.items() if node not in self.answered)
        failed = len(set(self.failed) - set(self.answered) - set(self.refused))
        counts = Collected(asked=len(self.recipients), reported=len(self.answered), refused=refused, failed=failed,
                           seconds=seconds)  # fmt: skip
        counts.silent = counts.asked - counts.reported - sum(refused.values()) - failed
        for phase in self.phases.values():
            for name, value in phase.to_dict().items():
                setattr(counts, name, getattr(counts, name) + value)
        return counts


class TrainingGrid(Grid):
    """Grid that picks each round's nodes and counts traffic.

    Args:
        inner: Grid that takes messages to their nodes.
        train: Returns the nodes that train in round r (from 1).
        evaluate: Returns the nodes that evaluate after round r; by default none.
        dropping: Probability that a node does not answer in a round.
        seed: Seed of who does not.
        dropouts: Nodes that never answer.
        replies: Judges every reply.
        adder: Party that adds the updates of a round; the strategy gets its sum alone. None: every update.
    """

    def __init__(
        self, inner: Grid, *, train: Sampler, evaluate: Sampler = lambda r: (), dropping: float = 0.0, seed: int = 0,
        dropouts: frozenset[int] = frozenset(), replies: Replies | None = None, adder: UpdateAdder | None = None,
    ) -> None:  # fmt: skip
        self.inner, self.tally = inner, RoundTally()
        self._samplers = {MessageType.TRAIN: train, MessageType.EVALUATE: evaluate}
        self._dropping, self._seed, self._dropouts = dropping, seed, dropouts
        self._replies, self._adder = replies or Replies(), adder
        self._round, self._next = 1, MessageType.TRAIN
        self.accuracy: float | None = None

    def drops(self, node: int, number: int) -> bool:
        """Whether a node does not answer in a round; the exchange before the rounds has number 0."""
        if node in self._dropouts:
            return True
        return bool(self._dropping) and np.random.default_rng([self._seed, number, node]).random() < self._dropping

    def go_on(self, done: int, tally: RoundTally) -> None:
        """Continue after ``done`` rounds that were counted in ``tally``."""
        self._round, self.tally = done + 1, tally

    def get_node_ids(self) -> Iterable[int]:
        """Return the nodes that are asked next."""
        return list(self._samplers[self._next](self._round))

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        """Deliver a training or evaluation round of ``Strategy.start``, and return the valid replies."""
        kind, at = self._next, self._round
        if kind == MessageType.TRAIN:
            self._next = MessageType.EVALUATE
        else:
            self._next, self._round = MessageType.TRAIN, at + 1
        phase = "training" if kind == MessageType.TRAIN else "evaluation"
        questions = RoundQuestions.of(messages)
        answers = self.exchange(questions, phase, at, timeout=timeout)
        if self._adder is not None and answers:
            sent = cast(ArrayRecord, questions[0].content["arrays"])[WEIGHTS].numpy()
            answers = self._adder.add(answers, sent)
        if kind == MessageType.EVALUATE:
            right, people = answers.judged()
            self.accuracy = right / people if people else None
        elif answers:
            self.tally.rounds_answered += 1
        return answers

    def exchange(
        self, messages: Iterable[Message], phase: str, number: int = 0, *, timeout: float | None = None
    ) -> RoundAnswers:
        """Deliver messages of any kind, count them under ``phase``, and return the valid answers by node.

        The bytes of other replies are not counted. A node that does not answer within ``timeout`` seconds is silent.

        Raises:
            TooManyFailed: where more of them failed than may.
        """
        questions = RoundQuestions.of(messages)
        if not questions:
            return RoundAnswers([])
        tally, cost = self.tally, self.tally.phases.setdefault(phase, Phase())
        cost.rounds += 1
        nodes = questions.nodes
        tally.recipients.update(nodes)
        cost.downlink_bytes += questions.payload
        cost.messages += len(nodes)
        heard = questions.to(node for node in nodes if not self.drops(node, number))
        replies = self.inner.send_and_receive(heard, timeout=timeout) if heard else RoundAnswers([])
        failed: dict[int, str] = {}
        if isinstance(replies, RoundAnswers):  # of devices in this process: they are what those devices send
            answers = replies
            cost.messages += len(answers)
        else:
            answers, failed = self._judged(heard, replies, cost)
        refused = answers.refused
        tally.refused |= {node: refusal.name for node, refusal in refused.items()}
        tally.answered.update(answers.nodes)
        tally.heard += sum(len(part.nodes) for part in answers.parts if part.group.kind != RECEIVE_TYPE)
        cost.uplink_bytes += answers.payload
        self._note(failed, questions, f"round {number}, {phase}" if number else phase)
        return answers.accepted()

    def _judged(
        self, questions: RoundQuestions, replies: Iterable[Message], cost: Phase
    ) -> tuple[RoundAnswers, dict[int, str]]:  # fmt: skip
        """Return the valid answers and the refusals among messages, and what was wrong with the others, by node."""
        waiting = {message.metadata.dst_node_id: message for message in questions}
        valid, refused, failed = list[Message](), dict[int, Refusal](), dict[int, str]()
        for reply in replies:
            cost.messages += 1
            node = reply.metadata.src_node_id
            question = waiting.pop(node, None)
            if question is None:
                continue  # nobody asked, or a second reply
            code = read_reply(reply) if reply.has_error() else None
            if isinstance(code, Refusal):
                refused[node] = code
            elif problem := "it sent an error" if reply.has_error() else self._replies.problem(question, reply):
                failed[node] = problem
            else:
                valid.append(reply)
        return RoundAnswers([*RoundAnswers.of(valid).parts, AnswerGroup(questions.groups[0], refused=refused)]), failed

    def _note(self, failed: Mapping[int, str], messages: Sequence[Message], when: str) -> None:
        """Count the nodes that failed and name the new ones; TooManyFailed where there are too many."""
        for node in sorted(failed.keys() - self.tally.failed.keys()):
            self.tally.failed[node] = f"{when}: {failed[node]}"
            line = f"{self._replies.name(node)} failed in {when}: {failed[node]}"
            (warn if len(self.tally.failed) <= _WARNED else log.info)(line)
        self._replies.check_failed(failed, messages, when)

    def set_run(self, run: Any) -> None:
        """Set the run."""
        self.inner.set_run(run)

    @property
    def run(self) -> Any:
        """Run of the inner grid."""
        return self.inner.run

    def create_message(self, *args: Any, **more: Any) -> Message:
        """Build a message."""
        return self.inner.create_message(*args, **more)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Push messages, uncounted."""
        return self.inner.push_messages(messages)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Pull replies, uncounted."""
        return self.inner.pull_messages(message_ids)


def exchange_sums(grid: TrainingGrid, task: Task, nodes: Sequence[int], people: int, trained: Sequence[int]) -> None:
    """Collect contributions, and send sums to the parties of ``trained``.

    Args:
        grid: Takes the messages.
        task: The task.
        nodes: All nodes.
        people: Number of people; node = device + 1 where the parties are devices.
        trained: Nodes that get sums.
    """
    config = ConfigRecord({"task": task.to_bytes()})
    content = round_content(None, config)
    replies = grid.exchange(RoundQuestions([QuestionGroup(EXCHANGE_TYPE, content, nodes)]), "contribution").others()
    contributions = {node: read_contribution(record, task, people) for node, record in sorted(replies.items())}
    if contributions:
        if task.of_silos:
            sums = dict(_sums_of_silos(contributions, task, people))
        else:
            sums = dict(_sums_of_devices(contributions, task, people, trained))
        grid.exchange(RoundQuestions([QuestionGroup(RECEIVE_TYPE, content, sorted(sums), sums)]), "sums")


def _sums_of_devices(
    contributions: Mapping[int, Shared], task: Task, people: int, trained: Sequence[int]
) -> Iterator[tuple[int, ArrayRecord]]:
    """Yield the rows of S X of each device and its neighbours, and its row of S; an edge counts if both ends listed it.

    A device has one person, so its contribution is its whole record.
    """
    counts, devices = np.zeros(people, np.int64), [node - 1 for node in contributions]
    counts[devices] = [len(contribution.rows.columns) for contribution in contributions.values()]
    columns, values = (np.concatenate([getattr(contribution.rows, part) for contribution in contributions.values()])
                       for part in ("columns", "values"))  # fmt: skip
    features = SparseRows(np.concatenate([[0], np.cumsum(counts)]), columns, values).matrix(task.d)
    heads = [contribution.more["neighbours"] for contribution in contributions.values()]
    ends = np.stack([np.repeat(devices, [len(each) for each in heads]), np.concatenate(heads)])
    listed = adjacency_matrix(people, ends)
    spread = gcn_matrix(csr_array(listed.minimum(listed.T)))
    sums = csr_array(spread @ features)
    sums.sort_indices()
    for node in trained:
        own = slice(spread.indptr[node - 1], spread.indptr[node])
        yield node, rows_record(SparseRows.of(sums[spread.indices[own]]), weights=spread.data[own])


def _sums_of_silos(contributions: Mapping[int, Shared], task: Task, people: int) -> Iterator[tuple[int, ArrayRecord]]:
    """Yield the rows of S X of each silo's members and their neighbours.

    A silo divides a member's features by the root of the member's degree plus one. The server
    divides each row once more, by the root of the degree plus one of the row's own person.
    """
    total, degrees = csr_array((people, task.d), dtype=np.float32), np.zeros(people, np.int64)
    for contribution in contributions.values():
        ids = contribution.more["ids"]
        spread = csr_array((np.ones(len(ids), np.float32), (ids, np.arange(len(ids)))), shape=(people, len(ids)))
        total = csr_array(total + spread @ contribution.rows.matrix(task.d))
        degrees[contribution.more["members"]] = contribution.more["degrees"]
    scale = (1 / np.sqrt(degrees + 1.0)).astype(np.float32)
    for node, contribution in contributions.items():
        ids = contribution.more["ids"]
        rows = csr_array(total[ids].multiply(scale[ids][:, None]))
        yield node, rows_record(SparseRows.of(rows), ids=ids, degrees=degrees[ids])
