"""Faults of the files of an import: where, what is wrong, what to do, and the option that mends it."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class FileFault:
    """One fault, however many rows it has.

    Args:
        place: File, with row and column where it has them.
        what: What is wrong.
        remedy: What to do.
        change: Fields of :class:`ldpsim.strategies.importing.options.ImportOptions` that mend it; empty if no option
        does.
    """

    place: str
    what: str
    remedy: str = ""
    change: dict[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The fault in one line."""
        start = f"{self.place}: {self.what}" if self.place else self.what
        return f"{start}; {self.remedy}" if self.remedy else start


class WrongFiles(ValueError):
    """All faults that were found, a line each.

    Args:
        faults: The faults.
        command: Command that takes the first remedy of each fault and works; None where no option mends one of them.
    """

    def __init__(self, faults: Iterable[FileFault], command: str | None = None) -> None:
        self.faults = tuple(faults)
        self.command = command
        super().__init__("\n".join(fault.line for fault in self.faults))


class FileFaults(list[FileFault]):
    """Faults that are being collected."""

    def add(self, place: str, what: str, remedy: str = "", **change: Any) -> None:
        """Add one; ``change`` holds the options that mend it."""
        self.append(FileFault(place, what, remedy, change))

    def end(self) -> None:
        """Raise what was collected.

        Raises:
            WrongFiles: if there is any.
        """
        if self:
            raise WrongFiles(self)


def and_more(number: int, words: str = "rows") -> str:
    """Return the words after the first of several: `` (3 rows)``, or nothing for one.

    >>> and_more(1), and_more(1200)
    ('', ' (1,200 rows)')
    """
    return f" ({number:,} {words})" if number > 1 else ""


def short(text: Any) -> str:
    """Return a text from a file in quotes, cut where it is long."""
    return reprlib.repr(text)
