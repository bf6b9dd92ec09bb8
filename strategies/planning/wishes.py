"""Wishes for a plan: what a method has to meet, the reasons why it does not, and the choice among those that do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from devices.query import MAX_BYTES
from strategies.estimate.fits import in_gib
from strategies.estimate.machine import memory_bytes
from strategies.planning.rows import PlanRow
from strategies.planning.worth import MADE_UP, NEEDED, Worth
from strategies.results.in_words import NOT_ASKED, guess
from strategies.results.levels import at_the_level, level_named


@dataclass(frozen=True)
class Wishes:
    """Wishes for the chosen method.

    Args:
        accuracy: Least likely test accuracy; None for none.
        level: Level of guarantee that the plan is about.
        holds: Loss that shall hold there; None leaves the budgets as they are.
        max_bytes: Most bytes a device, both ways.
        max_attack: Largest chance of a right guess between two equally likely values at the level.

    Raises:
        ValueError: one line, for a wish that cannot be.
    """

    accuracy: float | None = None
    level: str = "user"
    holds: float | None = None
    max_bytes: float | None = None
    max_attack: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", level_named(self.level, "--level"))
        if self.accuracy is not None and not 0 < self.accuracy <= 1:
            raise ValueError(f"--target accuracy={self.accuracy:g}: must be a share, above 0 and at most 1")
        if self.holds is not None and not 0 < self.holds < math.inf:
            raise ValueError(f"--holds {self.holds:g}: the loss must be a finite number above 0")
        if self.max_bytes is not None and not self.max_bytes >= 0:
            raise ValueError(f"--max-bytes {self.max_bytes:g}: must be 0 or more")
        if self.max_attack is not None and not 0.5 < self.max_attack < 1:
            raise ValueError(f"--max-attack {self.max_attack:g}: a chance above 0.5, that of a coin, and below 1")

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
    if row.worth is not None:
        if wishes.accuracy is not None and row.worth.test < wishes.accuracy:
            why.append(f"likely below {100 * wishes.accuracy:g} %")
        if row.bar is not None and row.worth.low <= row.bar[1]:
            clearly = "" if row.worth.test <= row.bar[1] else "clearly "
            why.append(f"not {clearly}better than nobody's answer ({row.bar[0]}: {100 * row.bar[1]:.0f} %)")
    return row.with_reasons(*why)


def missed_on_paper(row: PlanRow, wishes: Wishes) -> list[str]:
    """Return the wishes that a row misses whatever it is worth, on any machine."""
    why = list[str]()
    entry = row.at_level
    if wishes.loss is not None and not row.why and entry["status"] != NOT_ASKED:
        if entry["value"] is None:
            why.append(f"{entry['status']} {at_the_level(entry['level'])}")
        elif entry["value"] > wishes.loss * 1.01:
            why.append(f"{entry['value']:.4g} holds {at_the_level(entry['level'])}, above {wishes.loss:.4g}")
        elif wishes.max_attack is not None and guess(entry["value"], entry["delta"]) > wishes.max_attack + 1e-4:
            why.append(f"a guess is right with a chance of {guess(entry['value'], entry['delta']):.3f}")
    size = row.figures["bytes_per_device"]
    if wishes.max_bytes is not None and size > wishes.max_bytes:
        why.append(f"more than {wishes.max_bytes:,.0f} bytes a device")
    if row.figures["question_bytes"] > MAX_BYTES:
        why.append(f"its question has {row.figures['question_bytes'] / 1e6:,.1f} MB, and a device reads "
                   f"{MAX_BYTES / 1e6:.1f}")  # fmt: skip
    return why


def chosen(
    rows: Sequence[PlanRow], wishes: Wishes, nothing: Mapping[str, Worth], words: str = MADE_UP
) -> tuple[PlanRow | None, str]:  # fmt: skip
    """Return the row that meets the wishes best, and the reason in a sentence; ``words`` say where worth is from."""
    good = ranked(rows, wishes)
    if not good:
        return None, _why_none(rows, nothing)
    level, worth = at_the_level(wishes.level), good[0].worth
    if worth is None:
        return good[0], f"the least loss {level}, then the fewest bytes; worth was not simulated"
    seen = f"likely {100 * worth.test:.0f} %, {100 * worth.low:.0f} to {100 * worth.high:.0f} ({words})"
    if wishes.accuracy is not None:
        free = [name + (f" where {NEEDED[name]} are public" if name in NEEDED else "")
                for name, found in nothing.items() if found.test >= wishes.accuracy]  # fmt: skip
        also = f"; asking nobody reaches it too ({', '.join(free)})" if free else ""
        return good[0], f"{seen}, with the least loss {level} of those that reach " \
                        f"{100 * wishes.accuracy:g} %{also}"  # fmt: skip
    return good[0], f"{seen}, the best of {len(good)} that meet the wishes"


def ranked(rows: Sequence[PlanRow], wishes: Wishes) -> list[PlanRow]:
    """Return the rows that meet the wishes, the best first: with a target the least loss, else the likeliest worth."""
    good = [row for row in rows if row.meets]
    scored = [row for row in good if row.worth is not None]
    if wishes.accuracy is not None or not scored:
        return sorted(good, key=lambda row: (round(row.loss, 2), row.figures["bytes_per_device"]))
    return sorted(scored, key=lambda row: -row.worth.test if row.worth else 0.0)


def _why_none(rows: Sequence[PlanRow], nothing: Mapping[str, Worth]) -> str:
    """Return why no row meets the wishes, with the commonest reason."""
    if not rows:
        return "none, because no method can be asked like that"
    nearest = min(rows, key=lambda row: (len(row.why), -(row.worth.test if row.worth else 0.0)))
    said = f"none, because no method meets every wish; the nearest is {nearest.method}: {'; '.join(nearest.why)}"
    if nothing:
        given = ", ".join(f"{100 * worth.test:.0f} % ({name})" for name, worth in nothing.items())
        said += f". Asking nobody gives {given}"
    return said
