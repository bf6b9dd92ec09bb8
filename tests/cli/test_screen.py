from __future__ import annotations

import pytest
from rich.console import Console
from rich.table import Table

from ldpsim.cli.output import text_table
from ldpsim.cli.screen import NARROW, Screen, TitledRows

TEXT = "It is not measurably above it: -2.0 ± 10.0 points, [bold]100.0 %[/bold] of 78.4 kB and 12 Bytes"


def shown(width: int, what: object) -> list[str]:
    screen = Screen(width=width, highlight=False, color_system=None)
    with screen.capture() as capture:
        screen.print(what)
    return [line.rstrip() for line in capture.get().splitlines()]


@pytest.mark.parametrize("width", [20, 34, 41, 90])
@pytest.mark.parametrize("in_table", [False, True])
def test_no_line_ends_inside_a_figure(width: int, in_table: bool) -> None:
    table = Table.grid()
    table.add_row(TEXT)
    lines = shown(width, table if in_table else TEXT)
    assert max(map(len, lines)) <= width
    for figure in ("-2.0 ± 10.0 points", "100.0 %", "78.4 kB"):
        assert any(figure in line for line in lines), lines
    assert " ".join(lines) == TEXT.replace("[bold]", "").replace("[/bold]", "")


def shown_at(what: object, width: int) -> list[str]:
    screen = Console(width=width, highlight=False)
    with screen.capture() as capture:
        screen.print(what, crop=False)
    return [line.rstrip() for line in capture.get().splitlines()]


def facts() -> TitledRows:
    found = TitledRows(width=6, gap=1)
    found.add_row("one", "1 [bold]2[/bold]")
    found.add_row("", "3")
    return found


def test_titles_stand_beside_their_texts_where_there_is_room() -> None:
    assert shown_at(facts(), NARROW) == ["one    1 2", "       3"]


def test_titles_stand_above_their_texts_where_there_is_none() -> None:
    assert shown_at(facts(), NARROW - 1) == ["one", "  1 2", "  3"]


TABLE = ["name loss text", "edge  1.2 abcdefghijk…", "      3.4 b", "all  open"]
LIST = ["name", "edge", "  loss 1.2, text", "  abcdefghijklm", "  loss 3.4, text b", "all", "  open"]


@pytest.mark.parametrize(("width", "lines"), [(23, TABLE), (22, LIST)])
def test_a_table_that_does_not_fit_becomes_a_list_with_every_figure(width: int, lines: list[str]) -> None:
    table = text_table("name", ">loss", "!text", gap=1)
    table.add_row("[bold]edge[/bold]", "1.2", "abcdefghijklm")
    table.add_row("", "3.4", "b")
    table.add_row("all", "open", "")
    assert shown_at(table, width) == lines
