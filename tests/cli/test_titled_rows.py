from __future__ import annotations

import pytest
from rich.console import Console

from ldpsim.cli.output import text_table
from ldpsim.cli.titled_rows import NARROW, TitledRows


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


TABLE = ["name loss text", "edge  1.2 abcdefghijk…", "      3.4 b", "all  open"]
LIST = ["name", "edge", "  loss 1.2, text", "  abcdefghijklm", "  loss 3.4, text b", "all", "  open"]


@pytest.mark.parametrize(("width", "lines"), [(23, TABLE), (22, LIST)])
def test_a_table_that_does_not_fit_becomes_a_list_with_every_figure(width: int, lines: list[str]) -> None:
    table = text_table("name", ">loss", "!text", gap=1)
    table.add_row("[bold]edge[/bold]", "1.2", "abcdefghijklm")
    table.add_row("", "3.4", "b")
    table.add_row("all", "open", "")
    assert printed(table, width) == lines
