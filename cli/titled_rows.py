"""Titles with their texts: in two columns, or one below the other where the terminal is narrow."""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

NARROW = 56  # columns below which nothing stands side by side
_STYLE = "cyan"


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


@dataclass(frozen=True)
class Levels:
    """Table of figures that becomes a list where the terminal is narrow.

    Args:
        table: The table.
        lines: The same figures, a heading and its text each.
    """

    table: Table
    lines: tuple[tuple[str, str], ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table, or the list."""
        if options.max_width >= NARROW:
            yield self.table
            return
        for heading, text in self.lines:
            yield Text.from_markup(heading)
            yield Padding(text, (0, 0, 0, 2))
