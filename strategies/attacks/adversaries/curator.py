"""Adversarial curators: messages to enrolled devices, and all that the replies give away."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from ldpsim.devices.curator_key import CuratorKey
from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.policy.terms import terms_of
from ldpsim.devices.query import Query
from ldpsim.devices.report import Report, unpack_report
from ldpsim.devices.wire import QUERY_TYPE, query_content, read_reply
from ldpsim.strategies.engines.collect import quiet_flower
from ldpsim.strategies.engines.grids import DirectGrid, LocalGrid


@dataclass(frozen=True, eq=False)
class Target:
    """Enrolled devices as a curator sees them, with more rights for a stress test.

    Args:
        query: The honest question, for which the devices are enrolled.
        facts: The public facts.
        devices: Number of devices.
        connect: Makes the Grid of a new run. It is sent to other processes, so it must be picklable.
        folder: The state folder, for attacks that need several SuperNodes or changed data.
        curator_key: The key that the devices pin; the curator who attacks is this curator, but for messages that it
            sends unsigned.
    """

    query: Query
    facts: PublicFacts
    devices: int
    connect: Callable[[], DirectGrid]
    folder: Path | None = None
    curator_key: CuratorKey | None = None

    @classmethod
    def of(cls, folder: Path, query: Query, curator_key: CuratorKey | None = None) -> Target:
        """Return the devices of a state folder, reached through the local Grid.

        Raises:
            ValueError: if the folder has no devices.
        """
        state = State(folder)
        return cls(query, state.policy.facts, len(state), partial(LocalGrid, folder, len(state)), folder, curator_key)

    @contextmanager
    def run(self) -> Iterator[DirectGrid]:
        """Open a run with a new Grid; nothing of earlier runs is in memory."""
        with quiet_flower(), closing(self.connect()) as grid:
            yield grid

    @property
    def home(self) -> Path:
        """The state folder; ValueError if the devices are elsewhere."""
        if self.folder is None:
            raise ValueError("this attack needs the devices' state folder")
        return self.folder

    def change_data(self) -> None:
        """Change everybody's data: another label, one feature and one neighbour less."""
        folder = self.home / "population"
        old = Population.load(folder)
        features = np.setdiff1d(np.arange(len(old.feature_indices)), old.feature_indptr[:-1])
        neighbours = np.setdiff1d(np.arange(len(old.neighbour_indices)), old.neighbour_indptr[:-1])
        changed = {
            "feature_indptr": _without_first(old.feature_indptr),
            "feature_indices": old.feature_indices[features],
            "feature_values": old.feature_values[features],
            "neighbour_indptr": _without_first(old.neighbour_indptr),
            "neighbour_indices": old.neighbour_indices[neighbours],
            "labels": np.where(old.labels < 0, old.labels, (old.labels + 1) % max(1, self.facts.classes)),
        }
        for name, array in changed.items():
            np.save(folder / f"{name}.npy", array, allow_pickle=False)


def _without_first(indptr: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.maximum(np.diff(indptr) - 1, 0))])


@dataclass(frozen=True)
class Shot:
    """One message to several devices.

    Args:
        query: The question; None for content that is no question.
        content: Content of the message; None makes it from the query.
        kind: Type of the message.
        devices: Devices that get it; None for all.
        times: Number of copies that a device gets, one after another.
        signed: Whether the curator of the devices signs it, where they pin one.
    """

    query: Query | None = None
    content: RecordDict | None = None
    kind: str = QUERY_TYPE
    devices: range | None = None
    times: int = 1
    signed: bool = True

    def content_for(self, target: Target) -> RecordDict:
        """Return the content of the message."""
        if self.content is not None or self.query is None:
            return self.content or RecordDict()
        if target.curator_key is None or not self.signed:
            return query_content(self.query)
        return query_content(self.query, target.curator_key.sign(terms_of([(self.query, None)], target.devices)))


RunRounds = list[list[Shot]]  # of one run; the messages of a round are sent together
Runs = Iterator[RunRounds]


@dataclass(frozen=True)
class Release:
    """One device's answer about one attribute. Two equal replies are one release: the second adds no information.

    Args:
        device: The device.
        query: The query; its collection id is no part of the question, and does not count.
        attribute: The attribute.
        parts: The reports of the attribute's mechanisms.
    """

    device: int
    query: Query = field(compare=False, repr=False)
    attribute: str
    parts: tuple[bytes, ...] = field(repr=False)
    _question: tuple[bytes, int, bytes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        question = self.query.fingerprint(self.attribute), self.query.stage, self.query.grouping_digest
        object.__setattr__(self, "_question", question)


@dataclass
class AttackResult:
    """Everything that the messages of an attack gave.

    Args:
        messages: Number of messages.
        answers: Numbers of answers: reported, replayed, refused (by code), or other.
        unasked: Number of reports to bytes that are no question, or not in the form that the question fixes; always 0
            for a device that works as promised.
        texts: Texts of the errors that devices sent.
        releases: The distinct releases.
    """

    messages: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    unasked: int = 0
    texts: set[str] = field(default_factory=set)
    releases: set[Release] = field(default_factory=set, repr=False)

    def distinct(self) -> dict[tuple[int, str], int]:
        """Return the number of distinct answers of each device about each attribute; all stages are one answer."""
        return {about: sum(number for _, number in questions) for about, questions in self.questions().items()}

    @property
    def distinct_releases(self) -> int:
        """Largest number of distinct answers of a device about one attribute."""
        return max(self.distinct().values(), default=0)

    def questions(self) -> dict[tuple[int, str], list[tuple[Query, int]]]:
        """Return each question that a device answered about an attribute, with the number of distinct answers."""
        stages: dict[tuple[int, str], dict[bytes, tuple[Query, Counter[int]]]] = defaultdict(dict)
        for each in self.releases:
            questions = stages[each.device, each.attribute]
            question = each.query.fingerprint(each.attribute)
            questions.setdefault(question, (each.query, Counter()))[1][each.query.stage] += 1
        return {about: [(query, max(counts.values())) for query, counts in questions.values()]
                for about, questions in stages.items()}  # fmt: skip


class Curator:
    """Curator that sends rounds of messages, and keeps what comes back.

    Args:
        target: The devices.
        keep: Gets (device, query, report) of each report in place of the result, where there are too many to be kept.
        heard: Called after each round with the number of rounds so far.
    """

    def __init__(
        self, target: Target, *, keep: Callable[[int, Query, Report], None] | None = None,
        heard: Callable[[int], None] = lambda number: None,
    ) -> None:  # fmt: skip
        self.target, self.result = target, AttackResult()
        self._keep, self._heard, self._rounds = keep or self._released, heard, 0

    def carry_out(self, runs: Runs) -> AttackResult:
        """Carry out all runs, each with a Grid of its own."""
        for rounds in runs:
            with self.target.run() as grid:
                self.fire(grid, rounds)
        return self.result

    def fire(self, grid: Grid, rounds: RunRounds) -> None:
        """Send the rounds of one run."""
        for shots in rounds:
            sent: list[tuple[Message, Query | None]] = []
            for shot in shots:
                content, devices = shot.content_for(self.target), shot.devices or range(self.target.devices)
                sent += [(Message(content, device + 1, shot.kind), shot.query)
                         for device in devices for _ in range(shot.times)]  # fmt: skip
            replies = list(grid.send_and_receive([message for message, _ in sent]))
            by_id = {message.metadata.message_id: (message, query) for message, query in sent}
            self.result.messages += len(sent)
            for reply in replies:
                message, query = by_id[reply.metadata.reply_to_message_id]
                self.hear(reply, message.metadata.dst_node_id - 1, query)
            self._rounds += 1
            self._heard(self._rounds)

    def hear(self, reply: Message, device: int, query: Query | None) -> None:
        """Note one reply to a message to ``device``."""
        result = self.result
        if reply.has_error():
            result.texts.add(reply.error.reason or "")
        answer = read_reply(reply)
        if isinstance(answer, Refusal):
            result.answers[answer.name] += 1
        elif answer is None:
            result.answers["other"] += 1
            result.unasked += reply.has_content()
        else:
            report = answer[1]
            result.answers["replayed" if report.replayed else "reported"] += 1
            try:
                if query is None:
                    raise ValueError("a report came back for no question")
                self._keep(device, query, report)
            except ValueError:
                result.unasked += 1

    def _released(self, device: int, query: Query, report: Report) -> None:
        parts = unpack_report(report.data, query)
        self.result.releases |= {Release(device, query, attribute, part) for attribute, part in parts.items()}
