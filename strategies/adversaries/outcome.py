"""What an adversary learned, counted by distinct releases and weighed by their true losses."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from devices.mechanisms.base import round_up
from devices.query import Ask, Query

Reports = dict[int, list[tuple[Ask, tuple[bytes, ...]]]]


@dataclass(frozen=True)
class Release:
    """One device's answer about one attribute, as the curator holds it.

    Two replies that are equal here told the curator nothing twice.

    Args:
        device: Whose it is.
        query: What was asked; its collection id is left out, as it is no part of the question.
        attribute: Which attribute of it.
        parts: The reports of the attribute's mechanisms.
        epoch: How many times the person's data had changed before.
    """

    device: int
    query: Query = field(compare=False, repr=False)
    attribute: str
    parts: tuple[bytes, ...] = field(repr=False)
    epoch: int = field(default=0, compare=False)

    @cached_property
    def _question(self) -> tuple[bytes, int, bytes]:
        return self.query.fingerprint(self.attribute), self.query.stage, self.query.grouping_digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.device, self.attribute, self.parts, self._question

    @property
    def ask(self) -> Ask:
        """The mechanisms that drew it."""
        return next(ask for ask in self.query.asks if ask.attribute == self.attribute)


@dataclass
class Outcome:
    """All that came of an adversary's messages.

    Args:
        adversary: Its name.
        messages: How many messages were sent.
        answers: How many were reported, replayed, refused (by code), or answered otherwise.
        unasked: Reports that came back for bytes that are no question at all, or outside the
            form the question fixes: always 0 from a device that holds its promise.
        texts: Every text of an error that a device sent.
    """

    adversary: str
    messages: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    unasked: int = 0
    texts: set[str] = field(default_factory=set)
    _releases: set[Release] = field(default_factory=set, repr=False)

    def add(self, releases: Iterable[Release]) -> None:
        """Note what a device said; what is known already changes nothing."""
        self._releases.update(releases)

    def __iter__(self) -> Iterator[Release]:
        return iter(sorted(self._releases, key=lambda r: (r.device, r.attribute, r.query.stage, r.parts)))

    def merge(self, other: Outcome) -> None:
        """Pool what another curator learned."""
        self.messages += other.messages
        self.answers += other.answers
        self.unasked += other.unasked
        self.texts |= other.texts
        self._releases |= other._releases

    @property
    def distinct_releases(self) -> int:
        """The most distinct answers that any device gave about one attribute; a plan's stages are one answer."""
        return max(self.answers_given().values(), default=0)

    def distinct(self, device: int, attribute: str) -> int:
        """How many distinct answers one device gave about one attribute."""
        return self.answers_given().get((device, attribute), 0)

    def answers_given(self) -> dict[tuple[int, str], int]:
        """How many distinct answers each device gave about each attribute: one pass over all releases."""
        stages: dict[tuple[int, str, bytes], Counter[int]] = defaultdict(Counter)
        for release in self._releases:
            key = (release.device, release.attribute, release.query.fingerprint(release.attribute))
            stages[key][release.query.stage] += 1
        found: dict[tuple[int, str], int] = defaultdict(int)
        for (device, attribute, _), counts in stages.items():
            found[device, attribute] += max(counts.values())
        return found

    def loss(self, device: int, attribute: str) -> float:
        """Vector loss of all that one device said about one attribute: independent answers add up."""
        asked: dict[bytes, tuple[Query, Counter[int]]] = {}
        for release in self._releases:
            if (release.device, release.attribute) == (device, attribute):
                _, stages = asked.setdefault(release.query.fingerprint(attribute), (release.query, Counter()))
                stages[release.query.stage] += 1
        parts = [query.loss(attribute, device=device).vector * max(stages.values()) for query, stages in asked.values()]
        return round_up(math.fsum(parts))

    def reports(self, attribute: str) -> Reports:
        """Every distinct report about an attribute, by device: what averaging and likelihood work on."""
        found: Reports = {}
        for release in self:
            if release.attribute == attribute:
                found.setdefault(release.device, []).append((release.ask, release.parts))
        return found
