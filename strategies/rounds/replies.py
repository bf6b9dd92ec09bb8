"""Replies of a training, compared with the questions that they answer before anything reads them.

A party may send anything. One update of another shape, or with a number that is not finite, would end or spoil the
training of everybody. So such a reply is no answer: its party counts as failed, and the round goes on with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flwr.app import Message, MessageType, MetricRecord

from ldpsim.devices.federated.exchange import check_neighbours, read_contribution, read_representation, read_variate
from ldpsim.devices.federated.wire import OTHERS, WEIGHTS, read_weights
from ldpsim.devices.training_task import Task
from ldpsim.devices.wire import EXCHANGE_TYPE

MOST_FAILED = 0.5  # share of the parties of a round that may fail; one party may always
NAMED = 3  # parties in the line about a training that stops
_RECORDS = {MessageType.TRAIN: {"arrays", "metrics"}, MessageType.EVALUATE: {"metrics"}}  # beside values for others


class TooManyFailed(RuntimeError):
    """End of a training in which more parties of a round failed than may; one line."""


class Replies:
    """Judge of the replies of a training.

    Args:
        task: The task of the devices or silos; None: the values for others, and the numbers of people, are not judged.
        people: Number of people.
        name: Returns the name of a node's party; None: the node is a device's or silo's number plus 1.
    """

    def __init__(self, task: Task | None = None, people: int = 0, name: Callable[[int], str] | None = None) -> None:
        self._task, self._people, self._name = task, people, name

    def name(self, node: int) -> str:
        """Return the name of a node's party."""
        if self._name is not None:
            return self._name(node)
        return f"{'silo' if self._task is not None and self._task.of_silos else 'device'} {node - 1}"

    def problem(self, question: Message, reply: Message) -> str:
        """Return what is wrong with a reply that is no error, in a few words; empty if nothing is."""
        try:
            self._check(question, reply)
        except ValueError as error:
            return str(error)
        return ""

    def check_failed(self, failed: Mapping[int, str], messages: Iterable[Message], when: str) -> None:
        """Stop a training in which too many parties of a round failed.

        Args:
            failed: What was wrong with the reply of each of them, by node.
            messages: What all parties were asked; those that train, and those that do not, are counted apart.
            when: The round, in words.

        Raises:
            TooManyFailed: for more than :data:`MOST_FAILED` of them, and more than one.
        """
        kinds: dict[str, list[int]] = {}
        for message in messages if failed else ():
            kinds.setdefault(message.metadata.message_type, []).append(message.metadata.dst_node_id)
        for nodes in kinds.values():
            wrong = sorted(failed.keys() & nodes)
            if len(wrong) <= max(1, MOST_FAILED * len(nodes)):
                continue
            reasons = [f"{self.name(node)}: {failed[node]}" for node in wrong[:NAMED]]
            others = [f"and {len(wrong) - NAMED:,} more"] if len(wrong) > NAMED else []
            raise TooManyFailed(
                f"{len(wrong):,} of {len(nodes):,} failed in {when} ({'; '.join(reasons + others)}), so the training "
                "stopped for good"
            )

    def _check(self, question: Message, reply: Message) -> None:
        kind = question.metadata.message_type
        content, records, read = dict(reply.content), _RECORDS.get(kind, set()), self._reader(question)
        others = {OTHERS} if read is not None or not records else set[str]()
        free = {OTHERS} if self._task is None else set[str]()  # nobody knows whether the values belong there
        if content.keys() - free != (records | others) - free:
            raise ValueError("the reply is no answer to the question")
        if "metrics" in records:
            self._check_numbers(content["metrics"], accuracy=kind == MessageType.EVALUATE)
        if "arrays" in records:
            sent: Any = question.content["arrays"]
            if read_weights(content["arrays"], sent[WEIGHTS].shape[0]).dtype != sent[WEIGHTS].dtype:
                raise ValueError("the weights have another shape or type")
        if read is not None:
            read(content[OTHERS])

    def _check_numbers(self, metrics: object, *, accuracy: bool) -> None:
        wanted = {"num-examples", "accuracy"} if accuracy else {"num-examples"}
        figures = dict(metrics) if isinstance(metrics, MetricRecord) else {}
        if figures.keys() != wanted:
            raise ValueError("its figures are others than those that were asked")
        people, right = figures["num-examples"], figures.get("accuracy", 0.0)
        most = 1 if self._task is not None and not self._task.of_silos else self._people
        if type(people) is not int or people < 1 or (self._task is not None and people > most):
            raise ValueError("the number of people is impossible")
        if type(right) is not float or not 0 <= right <= 1:
            raise ValueError("the accuracy is impossible")

    def _reader(self, question: Message) -> Callable[[object], object] | None:
        """Return the check of the values for others that the answer to a question has; None where it has none."""
        task, kind = self._task, question.metadata.message_type
        if task is None or kind not in (EXCHANGE_TYPE, MessageType.TRAIN):
            return None
        if kind == EXCHANGE_TYPE and task.sees == "sums":
            return lambda record: read_contribution(record, task, self._people)
        if task.sees != "ego" and "control" not in question.content:
            return None
        dtype = question.content.array_records["arrays"][WEIGHTS].dtype
        if task.sees == "ego":
            return lambda record: self._check_representation(task, dtype, record)
        return lambda record: read_variate(record, task, dtype)

    def _check_representation(self, task: Task, dtype: str, record: object) -> None:
        neighbours, _ = read_representation(record, task, dtype)
        if neighbours is not None:
            check_neighbours(neighbours, self._people)
