"""Wishes for a plan: what a method has to meet, the reasons why it does not, and the choice among those that do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ldpsim.devices.query import MAX_BYTES
from ldpsim.strategies.estimate.fits import in_gib
from ldpsim.strategies.estimate.machine import memory_bytes
from ldpsim.strategies.planning.rows import PlanRow
from ldpsim.strategies.results.in_words import NOT_ASKED, guess
from ldpsim.strategies.results.levels import at_the_level, level_named
from ldpsim.strategies.results.numbers import epsilon, guessed


@dataclass(frozen=True)
class Wishes:
    """Wishes for the chosen method.

    Args:
        level: Level of guarantee that the plan is about.
        holds: Loss that shall hold there; None leaves the budgets as they are.
        max_bytes: Most bytes a device, both ways.
        max_attack: Largest chance of a right guess between two equally likely values at the level.

    Raises:
        ValueError: one line, for a wish that cannot be.
    """

    level: str = "user"
    holds: float | None = None
    max_bytes: float | None = None
    max_attack: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", level_named(self.level, "--level"))
        if self.holds is not None and not 0 < self.holds < math.inf:
            raise ValueError(f"--holds {self.holds:g}: the loss must be a finite number above 0")
        if self.max_bytes is not None and not self.max_bytes >= 0:
            raise ValueError(f"--max-bytes {self.max_bytes:g}: must be 0 or more")
        if self.max_attack is not None and not 0.5 < self.max_attack < 1:
            raise ValueError(f"--max-attack {self.max_attack:g}: a chance above 0.5, that of a coin, and below 1")

    @property
    def of_a_record(self) -> bool:
        """Whether the level is about all that a person reports, with or without what others report of the person."""
        return self.level in ("user", "node")

    @property
    def counts_what_is_clear(self) -> bool:
        """Whether settings with less in clear are preferred: a loss is wished for a whole record."""
        return self.of_a_record and self.loss is not None

    @property
    def loss(self) -> float | None:
        """Loss for which budgets are solved: the smaller of ``holds`` and that of ``max_attack``; None for neither.

        >>> round(Wishes(max_attack=0.9).loss, 4)
        2.1972
        """
        attack = None if self.max_attack is None else math.log(self.max_attack / (1 - self.max_attack))
        given = [value for value in (self.holds, attack) if value is not None]
        return min(given) if given else None


def judged(row: PlanRow, wishes: Wishes) -> PlanRow:
    """Return the row with the wishes that it does not meet."""
    why = missed_on_paper(row, wishes)
    if row.figures["fits"] is False:
        why.append(f"does not fit the memory of this machine ({in_gib(memory_bytes())})")
    if row.worth is not None and row.worth.not_better:
        why.append(row.worth.not_better)
    return row.with_reasons(*why)


def missed_on_paper(row: PlanRow, wishes: Wishes) -> list[str]:
    """Return the wishes that a row misses whatever it is worth, on any machine."""
    why = list[str]()
    entry = row.at_level
    if wishes.loss is not None and not row.why and entry["status"] != NOT_ASKED:
        if entry["value"] is None:
            why.append(f"{entry['status']} {at_the_level(entry['level'])}")
        elif entry["value"] > wishes.loss * 1.01:
            why.append(f"{epsilon(entry['value'])} holds {at_the_level(entry['level'])}, above {epsilon(wishes.loss)}")
        elif wishes.max_attack is not None and guess(entry["value"], entry["delta"]) > wishes.max_attack + 1e-4:
            why.append(f"a guess is right with a chance of {guessed(guess(entry['value'], entry['delta']))}")
    size = row.figures["bytes_per_device"]
    if wishes.max_bytes is not None and size > wishes.max_bytes:
        why.append(f"more than {wishes.max_bytes:,.0f} bytes a device")
    if row.figures["question_bytes"] > MAX_BYTES:
        why.append(f"its question has {row.figures['question_bytes'] / 1e6:,.1f} MB, and a device reads "
                   f"{MAX_BYTES / 1e6:.1f}")  # fmt: skip
    return why


def chosen(rows: Sequence[PlanRow], wishes: Wishes, where: str = "") -> tuple[PlanRow | None, str]:
    """Return the row that meets the wishes best, and the reason in a sentence; ``where`` says whose worth it is."""
    good = ranked(rows, wishes)
    if not good:
        return None, _why_none(rows)
    best = good[0]
    alike = [row for row in good if _openness(row, wishes) == _openness(best, wishes)]
    if best.worth is None:
        first = "" if len(alike) == len(good) else "the least in clear, then "
        return best, f"{first}the least loss {at_the_level(wishes.level)}, then the fewest bytes; nothing was rehearsed"
    among = (
        "the only one that meets the wishes" if len(alike) == 1 else f"the best of {len(alike)} that meet the wishes"
    )
    least = "" if len(alike) == len(good) else " with the least in clear"
    return best, f"{100 * best.worth.test:.0f} % ({where}), {among}{least}"


def ranked(rows: Sequence[PlanRow], wishes: Wishes) -> list[PlanRow]:
    """Return the rows that meet the wishes, the best first: by worth, or without any the one with the least loss.

    Where a loss is wished for a whole record, rows with less of it in clear come first.
    """
    good = [row for row in rows if row.meets]
    scored = [row for row in good if row.worth is not None]
    if not scored:
        return sorted(good, key=lambda row: (_openness(row, wishes), round(row.loss, 2),
                                             row.figures["bytes_per_device"]))  # fmt: skip
    return sorted(scored, key=lambda row: (_openness(row, wishes), -row.worth.test if row.worth else 0.0))


def _openness(row: PlanRow, wishes: Wishes) -> int:
    """Return how much of an ordinary person's record somebody sees in clear, if that counts; an owner sees it all."""
    if not wishes.counts_what_is_clear:
        return 0
    return 3 if row.at_level["level"] != wishes.level else row.in_clear.rank


def _why_none(rows: Sequence[PlanRow]) -> str:
    """Return why no row meets the wishes, with the commonest reason."""
    if not rows:
        return "none, because no method can be asked like that"
    nearest = min(rows, key=lambda row: (len(row.why), -(row.worth.test if row.worth else 0.0)))
    return f"none, because no method meets every wish; the nearest is {nearest.method}: {'; '.join(nearest.why)}"
