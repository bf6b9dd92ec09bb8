"""Content of a dossier: sections of lines, tables and fields to fill. Its page and its text are made of it alone.

A figure knows its value, the place in a file where it stands, and on what it rests. No text is read back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from strategies.group_accuracy.shown import GroupRow
from strategies.results.in_words import guess

# theorem: proved for the protocol (docs/guarantees.md). run: measured by one. plan: computed or rehearsed by a plan.
Basis = Literal["theorem", "run", "plan"]
AS_IT_IS, BEST_GUESS = "as it is", "best guess"  # rules by which a figure follows from its place


@dataclass(frozen=True)
class SourcedFigure:
    """One figure with its source.

    Args:
        value: The value as the rule gives it.
        shown: How people read it.
        file: File that it stands in, below the folder of the dossier's subject.
        path: Place in the file: names and numbers of entries, with dots.
        basis: On what it rests.
        rule: :data:`AS_IT_IS`, or :data:`BEST_GUESS` of the loss ``value`` and ``delta`` at this place.
    """

    value: Any
    shown: str
    file: str
    path: str
    basis: Basis
    rule: str = AS_IT_IS


def follow(document: Any, path: str) -> Any:
    """Return the value at a place of a file; None if it is not there.

    >>> follow({"a": [{"b": 3}]}, "a.0.b"), follow({}, "a.b")
    (3, None)
    """
    for name in path.split("."):
        if isinstance(document, list) and name.isdigit() and int(name) < len(document):
            document = document[int(name)]
        elif isinstance(document, dict) and name in document:
            document = document[name]
        else:
            return None
    return document


def by_rule(document: Any, path: str, rule: str) -> Any:
    """Return the value that a rule gives at a place of a file."""
    found = follow(document, path)
    return guess(found["value"], found["delta"] or 0.0) if rule == BEST_GUESS else found


LinePart = str | SourcedFigure


@dataclass(frozen=True)
class Line:
    """One fact.

    Args:
        label: Its subject.
        parts: Text and figures, in the order in which they are read.
        sources: Sources of its text: tests, or pages of the documentation.
    """

    label: str
    parts: tuple[LinePart, ...]
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Blank:
    """A field that only people can fill."""

    label: str
    who: str


@dataclass(frozen=True)
class DossierTable:
    """A table; each row has one cell a heading, and a cell is text and figures."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[tuple[LinePart, ...], ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Section:
    """One section.

    Args:
        title: Its heading.
        lines: Facts and fields to fill.
        grids: Tables below them.
        note: A sentence above all.
        groups: Accuracy by groups of people; its figures are those of ``groups.rows`` of the result.
    """

    title: str
    lines: tuple[Line | Blank, ...] = ()
    grids: tuple[DossierTable, ...] = ()
    note: str = ""
    groups: tuple[GroupRow, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Dossier:
    """All content.

    Args:
        title: Heading of the page.
        lead: First sentences.
        not_protected: What is not protected, in words; empty only if every level has a bound that means something.
        sections: The sections.
    """

    title: str
    lead: str
    not_protected: tuple[str, ...]
    sections: Sequence[Section]

    def figures(self) -> list[SourcedFigure]:
        """Return all figures, in the order in which they are read; those of groups stand in their rows."""
        parts: list[LinePart] = []
        for section in self.sections:
            for line in section.lines:
                parts += line.parts if isinstance(line, Line) else ()
            parts += [part for grid in section.grids for row in grid.rows for cell in row for part in cell]
        return [part for part in parts if isinstance(part, SourcedFigure)]


def sources_of(parts: Sequence[LinePart]) -> tuple[str, ...]:
    """Return the sources of the figures among some parts: one text for each basis and file.

    >>> low, high = (SourcedFigure(0.1, "10 %", "plan.json", f"over.{end}", "plan") for end in ("low", "high"))
    >>> sources_of(["between ", low, high])
    ('plan: plan.json, over (low, high)',)
    """
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for part in parts:
        if isinstance(part, SourcedFigure):
            parent, _, last = part.path.rpartition(".")
            ends = found.setdefault((part.basis, part.file), {}).setdefault(parent, [])
            ends += [last] if last not in ends else []
    return tuple(f"{basis}: {file}, {'; '.join(_ends(*each) for each in places.items())}"
                 for (basis, file), places in found.items())  # fmt: skip


def _ends(parent: str, ends: Sequence[str]) -> str:
    if len(ends) > 1:
        return f"{parent} ({', '.join(ends)})" if parent else ", ".join(ends)
    return f"{parent}.{ends[0]}".lstrip(".")
