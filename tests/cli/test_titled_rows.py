from __future__ import annotations

import pytest
from rich.console import Console

from cli.output import text_table
from cli.titled_rows import NARROW, Levels, TitledRows


def printed(shown: object, width: int) -> list[str]:
    screen = Console(width=width, highlight=False)
    with screen.capture() as capture:
        screen.print(shown)
    return [line.rstrip() for line in capture.get().splitlines()]


def facts() -> TitledRows:
    found = TitledRows(width=6, gap=1)
    found.add_row("one", "1 [bold]2[/bold]")
    found.add_row("", "3")
    return found


def test_titles_stand_beside_their_texts_where_there_is_room() -> None:
    assert printed(facts(), NARROW) == ["one    1 2", "       3"]


def test_titles_stand_above_their_texts_where_there_is_none() -> None:
    assert printed(facts(), NARROW - 1) == ["one", "  1 2", "  3"]


@pytest.mark.parametrize(("width", "lines"), [(NARROW, ["     loss", "edge  1.2"]), (40, ["edge", "  loss 1.2"])])
def test_a_table_of_levels_becomes_a_list(width: int, lines: list[str]) -> None:
    table = text_table("~", ">loss", gap=1)
    table.add_row("edge", "1.2")
    assert printed(Levels(table, (("edge", "loss 1.2"),)), width) == lines
