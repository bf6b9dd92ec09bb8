"""Output of a command: its result on standard output, everything else on standard error."""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

import typer

from ldpsim.cli.progress import Progress
from ldpsim.strategies.foreign_text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from ldpsim.cli.screen import FittingTable
    from ldpsim.strategies.experiments.cells import Failures
    from ldpsim.strategies.outputs.sums import AskedInAll

WIDTH = 80
MOST_ROWS = 10  # of a table on a first screen; --details has all
_PLAIN = {"±": "+-", "–": "-", "…": "...", "▲": "^", "◎": "(o)", "·": "-", "ε": "epsilon", "δ": "delta", "λ": "lambda",
          "ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"}  # fmt: skip
_WRITTEN_PLAINLY = "ldpsim.plain"


def write_plainly_where_needed() -> None:
    """Let standard output and standard error spell signs that their encoding lacks: ``+-`` for ``±`` in ASCII."""
    codecs.register_error(_WRITTEN_PLAINLY, _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
            stream.reconfigure(errors=_WRITTEN_PLAINLY)


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Return the spelling of what cannot be encoded, and where it ends: a handler of :mod:`codecs`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


def echo(text: object, *, err: bool = False, nl: bool = True) -> None:
    """Print a text on standard output or standard error; commands print with this or :func:`console` alone."""
    typer.echo(printable(text), err=err, nl=nl)


def print_json(document: Any) -> None:
    """Print one JSON document."""
    typer.echo(json.dumps(document, indent=2, allow_nan=False))


def console() -> Console:
    """Return a console on standard output, as wide as the terminal; 80 columns where there is none."""
    from ldpsim.cli.screen import Screen

    screen = Screen(highlight=False)
    return Screen(highlight=False, width=screen.width if screen.is_terminal else WIDTH)


def text_table(*headings: str, gap: int = 2) -> FittingTable:
    """Return a plain table, one line a row; a list where the terminal is too narrow for it.

    Args:
        headings: ``>text`` is a column of numbers; ``!text`` takes the remaining width and is cut there;
            ``~text`` is wrapped where the terminal is narrow, so that no value is cut.
        gap: Blanks between columns.
    """
    from ldpsim.cli.screen import FittingTable

    cut = any(heading.startswith("!") for heading in headings)
    made = FittingTable(box=None, padding=(0, gap, 0, 0), header_style="dim", show_edge=False, expand=cut)
    for heading in headings:
        made.add_column(
            heading.lstrip(">!~"),
            justify="right" if heading.startswith(">") else "left",
            ratio=1 if heading.startswith("!") else None,
            no_wrap=not heading.startswith("~"),
            overflow="fold" if heading.startswith("~") else "ellipsis",
        )
    return made


def fitting(screen: Console, tables: Sequence[FittingTable]) -> FittingTable:
    """Return the first table that fits the terminal, else the last one, which becomes a list."""
    return next((table for table in tables if table.least(screen, screen.options) <= screen.width), tables[-1])


def show_failures(screen: Console, failures: Failures) -> None:
    """Print a line for each failure."""
    from rich.markup import escape

    for name, failed in failures:
        screen.print(f"[red]{escape(name)} failed[/red]: {escape(failed.line)}")


def show_sums(screen: Console, sums: Iterable[AskedInAll]) -> None:
    """Print what holds over all collections of the same people; nothing where nobody was asked twice."""
    from rich.markup import escape

    from ldpsim.strategies.foreign_text import text

    for total in sums:
        screen.print(f"[bold yellow]{escape(text(total.text))}[/]")


@contextmanager
def working(*, quiet: bool) -> Iterator[Progress]:
    """Show progress while a command works, and send what libraries print to standard error.

    Args:
        quiet: Whether to show no progress.
    """
    with stdout_to_stderr(), Progress(shown=not quiet) as progress:
        progress("starting", None)
        yield progress


@contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Send all that this process and its children print to standard error: the result has standard output alone."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)
