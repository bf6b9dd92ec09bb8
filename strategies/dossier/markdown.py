"""A dossier as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strategies.dossier.content import Blank, Dossier, DossierTable, LinePart, Section, sources_of
from strategies.group_accuracy.shown import MODELS, GroupRow
from strategies.results.numbers import NONE, percent

_SIGNS = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]<>|#"})
TO_FILL = "to be filled by"


def to_markdown(made: Dossier) -> str:
    """Return the text; texts of files are escaped."""
    return "\n".join(_lines(made)) + "\n"


def _lines(made: Dossier) -> Iterator[str]:
    yield f"# Dossier: {_plain(made.title)}"
    yield from ("", made.lead, "")
    if made.not_protected:
        yield "**Not protected, or hardly:**"
        yield from ("", *(f"- {_plain(each)}" for each in made.not_protected), "")
    for section in made.sections:
        yield from _section(section)


def _section(section: Section) -> Iterator[str]:
    yield f"## {section.title}"
    yield ""
    if section.note:
        yield from (section.note, "")
    if section.lines:
        rows = []
        for line in section.lines:
            if isinstance(line, Blank):
                rows.append((_plain(line.label), "", f"{TO_FILL} {line.who}"))
            else:
                sources = (*sources_of(line.parts), *line.sources)
                rows.append((_plain(line.label), _said(line.parts), _plain("; ".join(sources))))
        yield from _table(("", "", "source"), rows)
    for grid in section.grids:
        yield from _grid(grid)
    if section.groups:
        head = ("group", "people", "accuracy", "best simpler model", "without noise", "source")
        yield from _table(head, [_group(place, row) for place, row in enumerate(section.groups)])


def _grid(grid: DossierTable) -> Iterator[str]:
    yield from (f"### {grid.title}", "")
    cited = any(sources_of(cell) for row in grid.rows for cell in row)
    rows = []
    for row in grid.rows:
        sources = sources_of([part for cell in row for part in cell])
        rows.append((*map(_said, row), *((_plain("; ".join(sources)),) if cited else ())))
    yield from _table((*grid.head, *(("source",) if cited else ())), rows)
    if grid.note:
        yield from (grid.note, "")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def _group(place: int, row: GroupRow) -> tuple[str, ...]:
    shares = []
    for model in MODELS:
        found = row.accuracy.get(model)
        shares.append(
            NONE if found is None else f"{percent(found.value)} ({percent(found.low)} to {percent(found.high)})"
        )
    worse = " **worse off**" if row.worse else ""
    return (f"{_plain(row.words)}{worse}", f"{row.people:,.0f}", *shares, f"run: groups.rows.{place}")


def _said(parts: Sequence[LinePart]) -> str:
    return "".join(_plain(part if isinstance(part, str) else part.shown) for part in parts)


def _plain(said: str) -> str:
    return said.translate(_SIGNS)
