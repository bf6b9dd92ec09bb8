"""Content of a consent sheet in one language: headings, sentences, and rows of odds. Text and page show the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cli.consent.roles import EVERYBODY, VOLUNTEER, Role, roles_of, times_of_100
from cli.consent.texts import figure, said
from cli.words import epsilon
from curator.privacy.level import Level
from curator.privacy.levels import LEVELS
from devices.policy.policy import Policy
from strategies.results.in_words import PROTECTIONS, guess

if TYPE_CHECKING:
    from curator.reports.question import Question

_SHOWN = 8  # public numbers of volunteers
_WEAK = PROTECTIONS[-2].most  # chance of a right guess above which there is no meaningful protection


@dataclass(frozen=True)
class Odds:
    """One row: a level, the guess, and how often of 100 times it is right at most.

    Args:
        about: What is guessed about.
        guess: The question between A and B.
        times: Of 100.
        warning: Words where it is not protected, or not meaningfully; else empty.
        protected: Whether any bound holds.
    """

    about: str
    guess: str
    times: int
    warning: str
    protected: bool


@dataclass(frozen=True)
class Section:
    """A heading with sentences; or with a note, rows of odds, and sentences below them."""

    heading: str
    points: tuple[str, ...]
    note: str = ""
    odds: tuple[Odds, ...] = ()


@dataclass(frozen=True)
class Part:
    """All that one role is told."""

    heading: str
    lead: str
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Sheet:
    """The whole sheet.

    Args:
        language: One of :data:`cli.consent.texts.LANGUAGES`.
        title, lead: Heading, and what the sheet follows from.
        parts: One for each role.
        columns: Headings of the rows: about, guess, times.
    """

    language: str
    title: str
    lead: str
    parts: tuple[Part, ...]
    columns: tuple[str, str, str]


def sheet_of(
    policy: Policy,
    questions: Sequence[Question] | None = None,
    *,
    language: str = "en",
    people: Iterable[int] | None = None,
) -> Sheet:
    """Return the sheet of a policy and a question.

    Args:
        policy: The policy of the devices.
        questions: The questions of the collection; None for any question that the policy lets through.
        language: One of :data:`cli.consent.texts.LANGUAGES`.
        people: Public numbers of those who read it, None for everybody: the roles of nobody else are told.

    Raises:
        ValueError: for a policy of a federated training.
    """
    writer = _Writer(policy, language, asked=questions is not None)
    roles = roles_of(policy, questions)
    if people is not None and policy.volunteers is not None:
        giving = {person in policy.volunteers for person in people}
        roles = tuple(role for role in roles if (role.name == VOLUNTEER) in giving)
    columns = (said(language, f"odds.column.{name}") for name in ("what", "guess", "times"))
    return Sheet(
        language,
        said(language, "title"),
        said(language, "lead.policy" if questions is None else "lead.question"),
        tuple(map(writer.part, roles)),
        (next(columns), next(columns), next(columns)),
    )


@dataclass(frozen=True)
class _Writer:
    policy: Policy
    language: str
    asked: bool

    def said(self, key: str, /, **parts: str) -> str:
        return said(self.language, key, **parts)

    def number(self, value: int) -> str:
        return figure(self.language, f"{value:,}")

    def part(self, role: Role) -> Part:
        people, n = self.number(role.people), self.number(self.policy.facts.n)
        counts = {"people": people} if role.name == EVERYBODY else {"people": people, "n": n}
        volunteers = sorted(self.policy.volunteers or ()) if role.name == VOLUNTEER else []
        numbers = ", ".join(map(str, volunteers[:_SHOWN])) + (", ..." if len(volunteers) > _SHOWN else "")
        sections = (
            self._section("asked", self._questions(role)),
            self._section("clear", self._clear(role)),
            self._odds(role),
            self._section("back", ["back.answer", *(["back.odds"] if _bounded(role) else []), "back.again"]),
            self._section("second", [f"second.{self.policy.on_requery}", "second.other"]),
            self._receiver(),
        )
        return Part(self.said(f"role.{role.name}", **counts),
                    self.said("role.numbers", numbers=numbers) if numbers else "", sections)  # fmt: skip

    def _section(self, name: str, points: Iterable[str | tuple[str, dict[str, str]]]) -> Section:
        """Return a section of points: the key of a text, or a key and its parts."""
        written = [self.said(point) if isinstance(point, str) else self.said(point[0], **point[1]) for point in points]
        return Section(self.said(name), tuple(written))

    def _questions(self, role: Role) -> list[str | tuple[str, dict[str, str]]]:
        noisy = [name for name in role.asked if name not in role.clear]
        points: list[str | tuple[str, dict[str, str]]] = []
        if role.asked:
            what = self.said("asked.or").join(map(self._named, role.questions))
            points.append(("asked.question" if self.asked else "asked.policy", {"what": what}))
        else:
            points.append("asked.nothing")
        if role.stages > 1:
            points.append(("asked.stages", {"stages": self.number(role.stages)}))
        if noisy:
            points.append(("asked.noise", {"what": self._named(noisy)}))
        if role.not_asked:
            points.append(("asked.not", {"what": self._named(role.not_asked)}))
        if role.refused:
            points.append("asked.refused")
        return points

    def _clear(self, role: Role) -> list[str | tuple[str, dict[str, str]]]:
        values = ("clear.values", {"what": self._named(role.clear)})
        points: list[str | tuple[str, dict[str, str]]] = [values if role.clear else "clear.nothing"]
        if role.holds["label"].public:
            points.append("clear.label")
        points.append("clear.always")
        if role.holds["relationship"].status != "not asked" and "adjacency" not in role.asked:
            points.append("clear.others")
        return points

    def _odds(self, role: Role) -> Section:
        shown = {name: level for name, level in role.holds.items() if level.status != "not asked"}
        points = [self.said("odds.beyond", what=self._beyond(role))] if _beyond(role) else []
        if shown:
            points.append(self.said("odds.experts", what="; ".join(
                f"{self._term(name)} {self._loss(level)}" for name, level in shown.items())))  # fmt: skip
        return Section(self.said("odds"), tuple(points), self.said("odds.note"),
                       tuple(self._row(name, level) for name, level in shown.items()))  # fmt: skip

    def _row(self, name: str, level: Level) -> Odds:
        warning = ""
        if level.value is None:
            warning = self.said("odds.public" if level.public else "odds.open")
        elif guess(level.value, level.delta) > _WEAK:
            warning = self.said("odds.weak")
        return Odds(self._term(name), self.said(f"{name}.guess"), times_of_100(level), warning, level.value is not None)

    def _beyond(self, role: Role) -> str:
        return ", ".join(f"{self._term(name)} {times_of_100(role.allowed[name])}" for name in _beyond(role))

    def _receiver(self) -> Section:
        if self.policy.collector is None:
            return self._section("receiver", ["receiver.any"])
        return self._section("receiver", [("receiver.pinned", {"key": self.policy.collector})])

    def _term(self, level: str) -> str:
        return self.said("label.level" if level == "label" else level)

    def _loss(self, level: Level) -> str:
        if level.value is None:
            return self.said("odds.infinite")
        delta = f" (delta {level.delta:.2e})" if level.delta else ""
        return figure(self.language, epsilon(level.value) + delta)

    def _named(self, attributes: Iterable[str]) -> str:
        return ", ".join(self.said(name) for name in attributes)


def _bounded(role: Role) -> bool:
    return any(level.status == "bounded" for level in role.holds.values())


def _beyond(role: Role) -> list[str]:
    """Return the levels at which the policy lets questions through that tell more than the one that is asked."""
    return [name for name in LEVELS
            if times_of_100(role.allowed[name]) > times_of_100(role.holds[name])]  # fmt: skip
