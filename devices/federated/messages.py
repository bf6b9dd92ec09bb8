"""Messages of a round, which are built where somebody looks at them.

The questions of a round share their records, and the answers to them are columns: a Flower ``Message`` for each device
would take more time than its training. Both are sequences of messages all the same. A strategy of Flower, its runtime
or a SuperNode reads them as such. A message that was built is kept, and owns its arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast, overload

import numpy as np
from flwr.app import ArrayRecord, Message, RecordDict
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.device import Refusal
from ldpsim.devices.federated.updates import Updates
from ldpsim.devices.federated.wire import OTHERS, OWN, WEIGHTS, round_reply
from ldpsim.devices.wire import payload_bytes, reply


@dataclass(eq=False)
class QuestionGroup:
    """Questions to nodes that are told the same.

    Args:
        kind: Type of the messages.
        content: The records that all of them share; None: the messages are empty.
        nodes: Flower's ids of the nodes, in rising order.
        own: Arrays for one node alone, by node.
        built: Messages that were built, by node.
        stamp: Called with each message that is built here; a Grid gives it an id.
    """

    kind: str
    content: RecordDict | None
    nodes: Sequence[int]
    own: Mapping[int, Any] = field(default_factory=dict, repr=False)
    built: dict[int, Message] = field(default_factory=dict, repr=False)
    stamp: Callable[[Message], object] = field(default=lambda message: None, repr=False)

    def among(self, nodes: Sequence[int]) -> QuestionGroup:
        """Return the questions to some of the nodes."""
        return self if len(nodes) == len(self.nodes) else replace(self, nodes=nodes)

    def message(self, node: int) -> Message:
        """Return the message to one node."""
        message = self.built.get(node)
        if message is None:
            own, shared = self.own.get(node), RecordDict() if self.content is None else self.content
            content = shared if own is None else RecordDict({**shared, OWN: own})
            message = self.built[node] = Message(content, node, self.kind)
            self.stamp(message)
        return message

    @property
    def payload(self) -> int:
        """Bytes of all the messages, as encoded (:func:`ldpsim.devices.wire.payload_bytes`)."""
        shared = 0 if self.content is None else payload_bytes(self.content)
        own = [self.own[node] for node in self.nodes if node in self.own] if self.own else []
        return len(self.nodes) * shared + sum(payload_bytes(RecordDict({OWN: record})) for record in own)


class RoundQuestions(Sequence[Message]):
    """The questions of a round.

    Args:
        groups: Those that are told the same, together.
    """

    def __init__(self, groups: Iterable[QuestionGroup]) -> None:
        self.groups = [group for group in groups if len(group.nodes)]

    @classmethod
    def of(cls, messages: Iterable[Message]) -> RoundQuestions:
        """Return messages as questions; those that share their records, as Flower's strategies make them, are a group.

        Several messages to one node are in groups of their own, in their order.
        """
        if isinstance(messages, RoundQuestions):
            return messages
        turns: Counter[int] = Counter()
        groups: dict[tuple[Any, ...], dict[int, Message]] = {}
        for message in messages:
            node, content = message.metadata.dst_node_id, _content(message)
            shared = tuple(sorted((name, id(record)) for name, record in content.items() if name != OWN))
            key = turns[node], message.metadata.message_type, message.has_content(), shared
            groups.setdefault(key, {})[node] = message
            turns[node] += 1
        return cls(_group(built) for _, built in sorted(groups.items(), key=lambda item: item[0][0]))

    def __len__(self) -> int:
        return sum(len(group.nodes) for group in self.groups)

    @overload
    def __getitem__(self, place: int) -> Message: ...
    @overload
    def __getitem__(self, place: slice) -> list[Message]: ...
    def __getitem__(self, place: int | slice) -> Message | list[Message]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        place = range(len(self))[place]
        for group in self.groups:
            if place < len(group.nodes):
                return group.message(group.nodes[place])
            place -= len(group.nodes)
        raise IndexError(place)

    def __iter__(self) -> Iterator[Message]:
        return (group.message(node) for group in self.groups for node in group.nodes)

    @property
    def nodes(self) -> list[int]:
        """Ids of all nodes."""
        return [node for group in self.groups for node in group.nodes]

    @property
    def payload(self) -> int:
        """Bytes of all messages, as encoded."""
        return sum(group.payload for group in self.groups)

    def to(self, nodes: Iterable[int]) -> RoundQuestions:
        """Return the questions to some of the nodes."""
        wanted = set(nodes)
        return RoundQuestions(group.among([node for node in group.nodes if node in wanted]) for group in self.groups)

    def stamp(self, stamp: Callable[[Message], object]) -> None:
        """Call ``stamp`` with each message: those that are built, and others as they are built."""
        for group in self.groups:
            group.stamp = stamp
            for node in group.nodes if group.built else ():
                if node in group.built:
                    stamp(group.built[node])


def _content(message: Message) -> Mapping[str, Any]:
    return message.content if message.has_content() else {}


def _group(built: dict[int, Message]) -> QuestionGroup:
    first = next(iter(built.values()))
    shared = {name: record for name, record in _content(first).items() if name != OWN}
    own = {node: message.content[OWN] for node, message in built.items() if OWN in _content(message)}
    content = RecordDict(shared) if first.has_content() else None
    return QuestionGroup(first.metadata.message_type, content, sorted(built), own, built)


@dataclass(frozen=True, eq=False)
class AnswerGroup:
    """Answers to a group of questions, by column; a column that they do not have is None.

    Args:
        group: The questions.
        nodes: Who answered, in rising order.
        people: int64 (nodes,): number of people trained on, or judged.
        updates: The new weights.
        right: float (nodes,): how many of the people have the class that the model gave.
        others: Values for others, a record a node.
        refused: Refusals by node.
        built: Replies that came as messages, by node.
    """

    group: QuestionGroup
    nodes: Sequence[int] = ()
    people: NDArray[np.int64] | None = None
    updates: Updates | None = field(default=None, repr=False)
    right: FloatArray | None = field(default=None, repr=False)
    others: Sequence[ArrayRecord] | None = field(default=None, repr=False)
    refused: Mapping[int, Refusal] = field(default_factory=dict, repr=False)
    built: dict[int, Message] = field(default_factory=dict, repr=False)

    def among(self, places: Sequence[int], refused: Mapping[int, Refusal]) -> AnswerGroup:
        """Return the answers at some places, with other refusals."""
        if not places:
            return AnswerGroup(self.group, refused=refused)
        rows = None if self.updates is None else Updates.whole(np.stack([self.updates.row(place) for place in places]))
        people = None if self.people is None else self.people[list(places)]
        right = None if self.right is None else self.right[list(places)]
        others = None if self.others is None else [self.others[place] for place in places]
        return AnswerGroup(self.group, [self.nodes[place] for place in places], people, rows, right, others, refused)

    def message(self, place: int) -> Message:
        """Return the reply of one node."""
        node = self.nodes[place]
        if node not in self.built:
            self.built[node] = self._reply(place, self.group.message(node))
        return self.built[node]

    def refusal(self, node: int) -> Message:
        """Return the reply of a node that refused."""
        return reply(self.refused[node], self.group.message(node), device=-1)

    def _reply(self, place: int, question: Message) -> Message:
        return round_reply(
            question,
            weights=None if self.updates is None else self.updates.row(place),
            people=None if self.people is None else int(self.people[place]),
            right=None if self.right is None else float(self.right[place]),
            others=None if self.others is None else self.others[place],
        )

    @property
    def payload(self) -> int:
        """Bytes of all the replies, as encoded: they differ in the values for others alone."""
        if len(self.built) == len(self.nodes):
            return sum(payload_bytes(message.content) for message in self.built.values())
        first = self._reply(0, Message(RecordDict(), self.nodes[0], self.group.kind))
        others = [record.count_bytes() for record in self.others or ()]
        return len(self.nodes) * (payload_bytes(first.content) - sum(others[:1])) + sum(others)


class RoundAnswers(Sequence[Message]):
    """The answers to the questions of a round, in the order of the nodes; then the refusals.

    Args:
        parts: Answers to the groups of the questions.
    """

    def __init__(self, parts: Iterable[AnswerGroup]) -> None:
        self.parts = list(parts)
        self.seen = False  # whether somebody looked at a message, and may have changed it

    @classmethod
    def of(cls, replies: Iterable[Message]) -> RoundAnswers:
        """Return answers, or messages that each hold one (:func:`ldpsim.devices.federated.wire.round_reply`)."""
        if isinstance(replies, RoundAnswers) and not replies.seen:
            return replies
        alike: dict[tuple[str, ...], dict[int, Message]] = {}
        for message in sorted(replies, key=lambda message: message.metadata.src_node_id):
            if not message.has_error():
                alike.setdefault(tuple(sorted(message.content)), {})[message.metadata.src_node_id] = message
        return cls(_answered(built) for built in alike.values())

    @cached_property
    def _places(self) -> list[tuple[AnswerGroup, int]]:
        places = [(node, number, place) for number, part in enumerate(self.parts)
                  for place, node in enumerate(part.nodes)]  # fmt: skip
        return [(self.parts[number], place) for _, number, place in sorted(places)]

    @property
    def refused(self) -> dict[int, Refusal]:
        """Refusals by node."""
        return {node: refusal for part in self.parts for node, refusal in part.refused.items()}

    @property
    def nodes(self) -> list[int]:
        """Ids of the nodes that answered."""
        return [node for part in self.parts for node in part.nodes]

    @property
    def payload(self) -> int:
        """Bytes of the answers, as encoded."""
        return sum(part.payload for part in self.parts)

    def accepted(self) -> RoundAnswers:
        """Return the answers without the refusals."""
        return RoundAnswers(replace(part, refused={}) for part in self.parts if len(part.nodes))

    def updates(self) -> AnswerGroup | None:
        """Return all answers that have weights as one part; None if there is none."""
        parts = [part for part in self.parts if part.updates is not None]
        if len(parts) < 2:
            return parts[0] if parts else None
        nodes = [node for part in parts for node in part.nodes]
        people, updates = (np.concatenate([cast(Any, part.people) for part in parts]),
                           Updates.joined([cast(Updates, part.updates) for part in parts]))  # fmt: skip
        return AnswerGroup(parts[0].group, nodes, people, updates)

    def moved(self, at: FloatArray, factors: FloatArray) -> RoundAnswers:
        """Return the answers with ``at`` plus each one's difference from it times its factor; all have weights."""
        ends = np.cumsum([len(part.nodes) for part in self.parts])
        each = zip(self.parts, np.split(factors, ends[:-1]), strict=True)
        return RoundAnswers(
            replace(part, updates=cast(Updates, part.updates).moved(at, own), built={}) for part, own in each
        )

    def others(self) -> dict[int, ArrayRecord]:
        """Return the values for others by node."""
        return {node: own for part in self.parts for node, own in zip(part.nodes, part.others or (), strict=False)}

    def judged(self) -> tuple[float, int]:
        """Return how many people have the class that the model gave, and how many were judged."""
        judged = [
            (part.right, part.people) for part in self.parts if part.right is not None and part.people is not None
        ]
        return sum(float(right.sum()) for right, _ in judged), sum(int(people.sum()) for _, people in judged)

    def __len__(self) -> int:
        return sum(len(part.nodes) + len(part.refused) for part in self.parts)

    @overload
    def __getitem__(self, place: int) -> Message: ...
    @overload
    def __getitem__(self, place: slice) -> list[Message]: ...
    def __getitem__(self, place: int | slice) -> Message | list[Message]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        self.seen, place = True, range(len(self))[place]
        if place < len(self._places):
            part, own = self._places[place]
            return part.message(own)
        refusals = [(part, node) for part in self.parts for node in part.refused]
        part, node = refusals[place - len(self._places)]
        return part.refusal(node)

    def __iter__(self) -> Iterator[Message]:
        return (self[place] for place in range(len(self)))


def _answered(built: dict[int, Message]) -> AnswerGroup:
    """Return replies of one form by column."""
    contents: list[Any] = [message.content for message in built.values()]
    first = contents[0]
    people = right = updates = others = None
    if "metrics" in first:
        people = np.array([content["metrics"]["num-examples"] for content in contents], np.int64)
        if "accuracy" in first["metrics"]:
            right = people * np.array([content["metrics"]["accuracy"] for content in contents])
    if "arrays" in first:
        updates = Updates.whole(np.stack([content["arrays"][WEIGHTS].numpy() for content in contents]))
    if OTHERS in first:
        others = [content[OTHERS] for content in contents]
    group = QuestionGroup(next(iter(built.values())).metadata.message_type, None, list(built))
    return AnswerGroup(group, list(built), people, updates, right, others, built=built)
