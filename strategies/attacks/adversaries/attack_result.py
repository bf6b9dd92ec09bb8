"""Result of an attack: the distinct releases that an adversary received, and their losses."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ldpsim.devices.mechanisms.exact_loss import round_up
from ldpsim.devices.query import Ask, Query

ReportsByDevice = dict[int, list[tuple[Ask, tuple[bytes, ...]]]]


@dataclass(frozen=True)
class Release:
    """One device's answer about one attribute, as the curator has it.

    Two equal replies are one release: the second adds no information.

    Args:
        device: The device.
        query: The query; its collection id does not count, because it is no part of the question.
        attribute: The attribute.
        parts: The reports of the attribute's mechanisms.
        epoch: Number of earlier changes of the person's data.
    """

    device: int
    query: Query = field(compare=False, repr=False)
    attribute: str
    parts: tuple[bytes, ...] = field(repr=False)
    epoch: int = field(default=0, compare=False)

    _question: tuple[bytes, int, bytes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        question = self.query.fingerprint(self.attribute), self.query.stage, self.query.grouping_digest
        object.__setattr__(self, "_question", question)

    @property
    def ask(self) -> Ask:
        """The mechanisms that made it."""
        return next(ask for ask in self.query.asks if ask.attribute == self.attribute)


@dataclass
class AttackResult:
    """Result of an adversary's messages.

    Args:
        adversary: Its name.
        messages: Number of messages sent.
        answers: Numbers of answers: reported, replayed, refused (by code), or other.
        unasked: Number of reports to bytes that are no question, or not in the form that the
            question fixes; always 0 for a device that works as promised.
        texts: Texts of the errors that devices sent.
    """

    adversary: str
    messages: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    unasked: int = 0
    texts: set[str] = field(default_factory=set)
    _releases: set[Release] = field(default_factory=set, repr=False)

    def add(self, releases: Iterable[Release]) -> None:
        """Add releases; one that is known already changes nothing."""
        self._releases.update(releases)

    def __iter__(self) -> Iterator[Release]:
        return iter(sorted(self._releases, key=lambda r: (r.device, r.attribute, r.query.stage, r.parts)))

    def merge(self, other: AttackResult) -> None:
        """Add the result of another curator."""
        self.messages += other.messages
        self.answers += other.answers
        self.unasked += other.unasked
        self.texts |= other.texts
        self._releases |= other._releases

    @property
    def distinct_releases(self) -> int:
        """Largest number of distinct answers of a device about one attribute; the stages of a query are one answer."""
        return max(self.answers_given().values(), default=0)

    def distinct(self, device: int, attribute: str) -> int:
        """Return the number of distinct answers of one device about one attribute."""
        return self.answers_given().get((device, attribute), 0)

    def answers_given(self) -> dict[tuple[int, str], int]:
        """Return the number of distinct answers of each device about each attribute, in one pass over all releases."""
        stages: dict[tuple[int, str, bytes], Counter[int]] = defaultdict(Counter)
        for release in self._releases:
            key = (release.device, release.attribute, release.query.fingerprint(release.attribute))
            stages[key][release.query.stage] += 1
        found: dict[tuple[int, str], int] = defaultdict(int)
        for (device, attribute, _), counts in stages.items():
            found[device, attribute] += max(counts.values())
        return found

    def loss(self, device: int, attribute: str) -> float:
        """Return the vector loss of all answers of one device about one attribute; the losses of answers add up."""
        asked: dict[bytes, tuple[Query, Counter[int]]] = {}
        for release in self._releases:
            if (release.device, release.attribute) == (device, attribute):
                _, stages = asked.setdefault(release.query.fingerprint(attribute), (release.query, Counter()))
                stages[release.query.stage] += 1
        parts = [query.loss(attribute, device=device).vector * max(stages.values()) for query, stages in asked.values()]
        return round_up(math.fsum(parts))

    def reports(self, attribute: str) -> ReportsByDevice:
        """Return every distinct report about an attribute by device, for averaging and likelihoods."""
        found: ReportsByDevice = {}
        for release in self:
            if release.attribute == attribute:
                found.setdefault(release.device, []).append((release.ask, release.parts))
        return found
