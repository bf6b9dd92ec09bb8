"""Screen of a terminal: what breaks no line inside a figure, and rows, tables and commands that fit its width.

``100.0 %`` and ``-2.0 ± 10.0 points`` stay whole. No foreign sign is written that does something to a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ldpsim.strategies.foreign_text import printable

NARROW = 56  # columns below which a title stands above its text
LEAST = 12  # columns of a text that may be cut
_UNBOUNDED = 10_000
_STYLE = "cyan"
_GLUE = "\ue000"  # stands for a blank while lines are broken; Rich also breaks at no-break spaces
_INSIDE = re.compile(r"(?<=\d) (?=(?:%|points\b|[kMGT]?B\b|s\b|±|▲))|(?<=±) (?=\d)")


class Screen(Console):
    """Rich console whose texts are printable and keep a number and its unit on one line, where the width allows it."""

    def render_str(self, text: str, **more: Any) -> Text:
        """Return the text with its figures glued."""
        return super().render_str(_INSIDE.sub(_GLUE, printable(text)), **more)

    def render(self, *arguments: Any, **more: Any) -> Iterable[Segment]:
        """Yield the segments, with blanks again."""
        for segment in super().render(*arguments, **more):
            yield segment if segment.control else segment._replace(text=printable(segment.text.replace(_GLUE, " ")))


@dataclass
class TitledRows:
    """Rows of a title and its content.

    Args:
        width: Least width of the titles, where they stand in a column.
        gap: Blanks between the columns.
        rows: The rows; an empty title continues the row above.
    """

    width: int
    gap: int = 2
    rows: list[tuple[str, RenderableType]] = field(default_factory=list)

    def add_row(self, title: str, content: RenderableType) -> None:
        """Add a row; text may have Rich's markup."""
        self.rows.append((title, content))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the columns, or the rows."""
        yield self._stacked() if options.max_width < NARROW else self._columns()

    def _columns(self) -> Table:
        grid = Table.grid(padding=(0, self.gap))
        grid.add_column(min_width=self.width, no_wrap=True, style=_STYLE)
        grid.add_column(overflow="fold")
        for row in self.rows:
            grid.add_row(*row)
        return grid

    def _stacked(self) -> Group:
        parts: list[RenderableType] = []
        for title, content in self.rows:
            parts += [Text(title, style=_STYLE)] if title else []
            parts.append(Padding(content, (0, 0, 0, 2)))
        return Group(*parts)


class FittingTable(Table):
    """Table that becomes a list where it does not fit, so that no figure is cut.

    The list has the heading of the first column. Each row is its first cell, and below it the other cells after their
    headings. A row whose first cell is empty continues the row above. A column with ``ratio`` may be cut down
    to :data:`LEAST`.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table, or the list."""
        if self.least(console, options) <= options.max_width:
            yield from super().__rich_console__(console, options)
            return
        if self.columns[0].header:
            yield Text(str(self.columns[0].header), style="dim")
        for cells in zip(*(column.cells for column in self.columns), strict=True):
            first, *rest = [console.render_str(str(cell)) for cell in cells]
            if first:
                yield first
            headings = [str(column.header).replace("\n", " ") for column in self.columns[1:]]
            filled = [(heading, text) for heading, text in zip(headings, rest, strict=True) if text]
            word = len(filled) == 1 and not any(map(str.isdigit, filled[0][1].plain))  # it explains itself
            parts = [Text.assemble((f"{name} " if name and not word else "", "dim"), text) for name, text in filled]
            yield Padding(Text(", ").join(parts), (0, 0, 0, 2))

    def least(self, console: Console, options: ConsoleOptions) -> int:
        """Return the columns of the terminal below which a value would be cut."""
        widths = []
        wide = options.update(max_width=_UNBOUNDED)
        for column in self.columns:
            sizes = [Measurement.get(console, wide, cell) for cell in (column.header, *column.cells)]
            most = max((size.maximum if column.no_wrap else size.minimum for size in sizes), default=0)
            widths.append(min(most, LEAST) if column.ratio else most)
        return sum(widths) + len(widths) * int(self.padding[1])
