"""Errors for people: one line and an exit code.

0: done; 1: the run failed; 2: a mistake of the person (wrong usage, or a ValueError from the
layers below); 3: refused, no device reported and at least one refused; 130: interrupted, by Ctrl-C
or by SIGTERM. An interrupt says what is kept; the layers below note it on the exception.
"""

from __future__ import annotations

import errno
import re
import signal
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import typer

from ldpsim.cli.help import Group
from ldpsim.cli.output import echo

if TYPE_CHECKING:
    from ldpsim.strategies.experiments.cells import Failures

INTERRUPTION = "interrupted"
NOTHING_HALF_WRITTEN = "nothing half-written is left, and the same command may be given again"
FAILED, MISTAKE, REFUSED, INTERRUPTED = 1, 2, 3, 130
DEBUG = "ldpsim.debug"


class Failure(Exception):
    """Failure with its line and its exit code."""

    def __init__(self, line: str, code: int) -> None:
        super().__init__(line)
        self.code = code


def one_line(text: object) -> str:
    """Return the text with all white space, line ends included, as single spaces, and very long numbers cut.

    >>> one_line(f"--epsilon {10**500} is\\n too much")
    '--epsilon 10000000000000000000... is too much'
    """
    return re.sub(r"(\d{20})\d{20,}", r"\1...", " ".join(str(text).split()))


def explain(error: Exception) -> tuple[str, int]:
    """Return the line and the exit code for an exception."""
    if isinstance(error, Failure):
        return one_line(error), error.code
    if isinstance(error, ValueError):
        return one_line(error) or "a value is not allowed", MISTAKE
    if isinstance(error, MemoryError):
        return f"out of memory ({one_line(error) or 'no more was given'})", FAILED
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}", FAILED
    return f"{type(error).__name__}: {one_line(error)}" if str(error) else type(error).__name__, FAILED


def say(line: str) -> None:
    """Write one error line on standard error."""
    echo(f"error: {line}", err=True)


def end_if_any_failed(failures: Failures, counted: str, *, debug: bool) -> None:
    """Raise :class:`Failure` with the first of the failures, if there is one.

    Args:
        failures: Names and reasons.
        counted: The words after their number, for example ``of 3 methods``.
        debug: Whether to print the tracebacks before.
    """
    for name, failed in failures:
        if debug and failed.trace:
            echo(f"{name}:\n{failed.trace}", err=True)
    for name, failed in failures:
        raise Failure(f"{len(failures)} {counted} failed; {name}: {failed.line}", FAILED)


def ask_for_debug(context: typer.Context, value: bool) -> bool:
    """Store ``--debug`` for :class:`OneLineErrors` (an option's callback)."""
    context.meta[DEBUG] = value
    return value


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Let SIGTERM interrupt the block as Ctrl-C does; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class OneLineErrors(Group):
    """Command group that reports every failure in one line; with ``--debug`` also a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn an exception into one line and an exit code."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt as stop:
            notes = getattr(stop, "__notes__", []) or [NOTHING_HALF_WRITTEN]
            say(f"{INTERRUPTION}: {one_line('; '.join(notes))}")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise  # the reader of the output ended, as `head` does: click ends without a message
            if ctx.meta.get(DEBUG):
                echo(traceback.format_exc(), err=True, nl=False)
            line, code = explain(error)
            say(line)
            raise typer.Exit(code) from None

    def main(self, *args: Any, **extra: Any) -> Any:
        """Parse and run; wrong usage is one line too, not Typer's box."""
        standalone_mode = extra.pop("standalone_mode", True)
        try:
            with interrupted_by_sigterm():
                code = super().main(*args, **{**extra, "standalone_mode": False})
        except click.exceptions.NoArgsIsHelpError as error:
            echo(click.unstyle(error.message))
            code = MISTAKE
        except click.ClickException as error:
            say(one_line(error.format_message()).rstrip(".") + _hint(error))
            code = error.exit_code
        except click.Abort:
            code = INTERRUPTED
        if standalone_mode:
            raise SystemExit(code if isinstance(code, int) else 0)
        return code


def _hint(error: click.ClickException) -> str:
    if not isinstance(error, click.UsageError):
        return ""
    return f" (see {error.ctx.command_path if error.ctx else 'ldpsim'} --help)"
