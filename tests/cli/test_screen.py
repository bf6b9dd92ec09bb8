from __future__ import annotations

import pytest
from rich.table import Table

from ldpsim.cli.screen import Screen

TEXT = "It is not measurably above it: -2.0 ± 10.0 points, [bold]100.0 %[/bold] of 78.4 kB and 12 Bytes"


def shown(width: int, what: object) -> list[str]:
    screen = Screen(width=width, highlight=False, color_system=None)
    with screen.capture() as capture:
        screen.print(what)
    return [line.rstrip() for line in capture.get().splitlines()]


@pytest.mark.parametrize("width", range(20, 100, 7))
@pytest.mark.parametrize("in_table", [False, True])
def test_no_line_ends_inside_a_figure(width: int, in_table: bool) -> None:
    table = Table.grid()
    table.add_row(TEXT)
    lines = shown(width, table if in_table else TEXT)
    assert max(map(len, lines)) <= width
    for figure in ("-2.0 ± 10.0 points", "100.0 %", "78.4 kB"):
        assert any(figure in line for line in lines), lines
    assert " ".join(lines) == TEXT.replace("[bold]", "").replace("[/bold]", "")


def test_a_figure_wider_than_the_screen_is_shown_whole_all_the_same() -> None:
    assert "".join(shown(8, "-2.0 ± 10.0 points")).replace(" ", "") == "-2.0±10.0points"


def test_a_blank_before_another_word_may_end_a_line() -> None:
    assert shown(4, "12 Bytes")[0] == "12"
