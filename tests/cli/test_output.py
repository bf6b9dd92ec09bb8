"""What commands print: documents, tables, progress, and no sign of a foreign text that does something."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from ldpsim.cli import progress as module
from ldpsim.cli.errors import say
from ldpsim.cli.output import console, echo, print_json, text_table, working, write_plainly_where_needed
from ldpsim.cli.progress import Progress
from ldpsim.cli.screen import NARROW, Screen, TitledRows
from ldpsim.strategies.progress import warn


def test_a_document_is_json_and_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [1, None]})
    assert json.loads(capsys.readouterr().out) == {"a": [1, None]}
    with pytest.raises(ValueError, match="JSON"):
        print_json(float("nan"))


def test_nothing_printed_while_working_reaches_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    with working(quiet=True):
        print("from Python")
        os.write(1, b"from a library\n")
    print("result")
    out, err = capfd.readouterr()
    assert out == "result\n"
    assert "from Python" in err and "from a library" in err


@pytest.mark.parametrize(("encoding", "written"), [
    ("ascii", b"61.2 +- 1.0 ^ ? -"), ("latin-1", b"61.2 \xb1 1.0 ^ ? -"), ("utf-8", "61.2 ± 1.0 ▲ 中 –".encode()),
])  # fmt: skip
def test_a_sign_that_the_encoding_lacks_is_spelled(
    encoding: str, written: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict")
    monkeypatch.setattr("sys.stdout", stream)
    write_plainly_where_needed()
    stream.write("61.2 ± 1.0 ▲ 中 –")
    stream.flush()
    assert stream.buffer.getvalue() == written  # type: ignore[attr-defined]


HOSTILE = "\x1b]0;owned\x1b[2J\u202eevil\x9b31m [red]mark[/nothing]"
SPELLED = r"\x1b]0;owned\x1b[2J\u202eevil\x9b31m [red]mark[/nothing]"


def test_no_sign_of_a_foreign_text_reaches_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.markup import escape
    from rich.text import Text

    echo(HOSTILE)
    warn(HOSTILE)
    say(HOSTILE)
    Progress(shown=True, patience=0.0)._write(HOSTILE)
    table = text_table("~a")
    table.add_row(escape(HOSTILE))
    for what in (escape(HOSTILE), Text(HOSTILE), table):
        console().print(what)
    out, err = capsys.readouterr()
    assert out.count(SPELLED) == 4 and err.count(SPELLED) == 3
    assert not set("\x1b\u202e\x9b") & set(out + err)


def test_colours_of_our_own_stay(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    console().print("[red]x[/red]")
    assert capsys.readouterr().out == "\x1b[31mx\x1b[0m\n"


def test_every_command_prints_by_these_functions() -> None:
    """Whatever prints past them could print a foreign sign."""
    package = Path(__file__).parents[2] / "cli"
    own = {"output.py", "progress.py"}
    direct = re.compile(r"typer\.(echo|secho)\(|(?<![\w.])print\(|print_exc|\bConsole\(\w|std(out|err)\.write")
    for path in package.rglob("*.py"):
        code = re.sub(r'"""[\s\S]*?"""', "", path.read_text())
        assert path.name in own or not direct.search(code), path


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


class Clock:
    """A clock that stands still until it is set."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def heard(capsys: pytest.CaptureFixture[str], *expected: str) -> str:
    """What stands on standard error when all that is expected is there; a timer writes some of it."""
    found = ""
    while not all(text in found for text in expected):
        time.sleep(0.02)
        shown = capsys.readouterr()
        assert shown.out == ""
        found += shown.err
    return found


# ---- a pipe or a file ---------------------------------------------------------------------


def test_a_long_phase_has_a_line_for_each_tenth_with_the_time_left(
    capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    with Progress(patience=50.0) as progress:
        progress("collect", None)
        for percent in range(101):
            clock.now = percent * 10.0
            progress("collect", percent / 100)
    # The first five steps are inside the patience; then the time that the rest needs at this pace.
    assert capsys.readouterr().err.splitlines() == [
        "collect 10 %, 15 min left", "collect 20 %, 13 min left", "collect 30 %, 12 min left",
        "collect 40 %, 10 min left", "collect 50 %, 8 min left", "collect 60 %, 7 min left", "collect 70 %, 5 min left",
        "collect 80 %, 3 min left", "collect 90 %, 2 min left", "collect 100 %",
    ]  # fmt: skip


def test_a_phase_that_is_not_over_soon_gets_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(patience=0.0) as progress:
        progress("reconstruct", None)
        assert heard(capsys, "reconstruct") == "reconstruct\n"
        progress("train", None)
        assert heard(capsys, "train") == "train\n"
        progress("train", None)
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def test_a_reader_that_is_gone_does_not_end_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed:
        encoding = "utf-8"

        def write(self, _: str) -> None:
            raise BrokenPipeError

        def flush(self) -> None:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed())
    with Progress(patience=0.0) as progress:
        progress("train", 0.5)


def test_a_figure_has_a_line_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    for shown in (True, False):
        with Progress(shown=shown, patience=50.0) as progress:
            progress.figure("accuracy 50.0 %; the rest follows")
            assert capsys.readouterr() == ("", "accuracy 50.0 %; the rest follows\n" if shown else "")


# ---- a terminal ---------------------------------------------------------------------------


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # Rich then takes any stream for a terminal
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("terminal")
def test_a_figure_stands_on_the_terminal_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(patience=50.0) as progress:
        progress("nulls", None)
        progress.figure("accuracy 50.0 %; the rest follows")
        heard(capsys, "accuracy 50.0 %; the rest follows", "nulls")


@pytest.mark.usefixtures("terminal")
def test_phases_are_drawn_with_percentage_and_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(patience=0.0) as progress:
        progress("collect", None)
        progress("collect", 0.5)
        progress("train", None)
        for share in (0.1, 0.2, 0.3):
            progress("train", share)
            time.sleep(0.02)
        heard(capsys, "collect", "100%", "train", "30%", "━")


@pytest.mark.usefixtures("terminal")
def test_a_bar_has_the_time_left_after_its_first_step(capsys: pytest.CaptureFixture[str], clock: Clock) -> None:
    """Three cells, of which one was finished by an earlier command: the pace is that of the others."""
    with Progress(patience=0.0) as progress:
        progress("cells", 1 / 3)
        clock.now = 60.0
        progress("cells", 2 / 3)
        heard(capsys, "cells", "67%", "60 s left")


def test_cells_of_an_earlier_command_say_nothing_on_the_pace(capsys: pytest.CaptureFixture[str], clock: Clock) -> None:
    with Progress(patience=50.0) as progress:
        progress("cells", 0.5)
        clock.now = 60.0
        progress("cells", 0.75)
        assert capsys.readouterr().err == "cells 70 %, 60 s left\n"
