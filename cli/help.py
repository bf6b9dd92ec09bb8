"""``--help``: options in groups in the order of use, one line each, and examples at the end.

    --NAME VALUE   what it does [default]

On a narrow terminal the text of an option stands below its name.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import typer
from typer.core import TyperCommand, TyperGroup

from ldpsim.cli.output import console
from ldpsim.strategies.setup.option_spec import OUTPUT, PANELS

NAMES = 24  # columns of an option's name and the form of its value
NARROW = 60  # columns below which a text stands below its name
_ARGUMENTS, _OPTIONS, _COMMANDS, _EXAMPLES = "Arguments", "Options", "Commands", "Examples"
_EXAMPLE = "ldpsim "  # a line of a docstring that begins so is an example

Row = tuple[str, str]  # a name and its text


class Command(TyperCommand):
    """Command with this help."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help."""
        formatter.write(help_text(self, ctx))


class Group(TyperGroup):
    """Group of commands with this help."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help."""
        formatter.write(help_text(self, ctx))


class App(typer.Typer):
    """Commands of which each has this help."""

    def command(self, *name: str | None, **more: Any) -> Callable[[Any], Any]:
        """Return the decorator of a command, as :meth:`typer.Typer.command` does."""
        return super().command(*name, cls=Command, **more)


def help_text(command: click.Command, context: click.Context) -> str:
    """Return the help of a command, as wide as the terminal."""
    width = console().width
    text, examples = described(command.help or "")
    lines = [_bold("Usage: ") + " ".join((context.command_path, *command.collect_usage_pieces(context)))]
    lines += [line for part in text for line in ("", *textwrap.wrap(part, width))]
    commands, options = command_groups(command), option_groups(command, context)
    for shown in (commands, options):
        names = min(NAMES, max((len(name) for rows in shown.values() for name, _ in rows), default=0))
        for heading, rows in shown.items():
            lines += ["", _bold(heading), *(line for row in rows for line in _lines(row, names, width))]
    if examples:
        lines += ["", _bold(_EXAMPLES), *(f"  {line}" for line in examples)]
    return "\n".join(lines) + "\n"


def described(docstring: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return the paragraphs of a command's docstring, and the lines of it that are examples."""
    lines = inspect.cleandoc(docstring).splitlines()
    rest = "\n".join(line for line in lines if not line.startswith(_EXAMPLE))
    paragraphs = (" ".join(part.split()) for part in rest.split("\n\n"))
    return [part for part in paragraphs if part], [line for line in lines if line.startswith(_EXAMPLE)]


def command_groups(command: click.Command) -> dict[str, list[Row]]:
    """Return the rows of a group's commands by heading; nothing of a command."""
    made: dict[str, list[Row]] = {}
    for name, below in command.commands.items() if isinstance(command, click.Group) else ():
        heading = getattr(below, "rich_help_panel", None) or _COMMANDS
        made.setdefault(heading, []).append(
            (name, " ".join((below.help or "").partition("\n\n")[0].split()).removesuffix("."))
        )
    return made


def option_groups(command: click.Command, context: click.Context) -> dict[str, list[Row]]:
    """Return the rows of arguments, of the command's own options, and of those in the groups of a run, by heading."""
    listed = [parameter for parameter in command.get_params(context) if not getattr(parameter, "hidden", False)]
    headings = [_heading(parameter) for parameter in listed]
    others = [heading for heading in headings if heading not in PANELS and heading != _ARGUMENTS]
    made: dict[str, list[Row]] = {heading: [] for heading in (_ARGUMENTS, *others, *PANELS)}
    for parameter, heading in zip(listed, headings, strict=True):
        if not isinstance(parameter, click.Option):
            made[heading].append((parameter.make_metavar(context), _text(parameter)))
        else:
            last = OUTPUT if "--help" in parameter.opts and OUTPUT in headings else heading
            made[last].append((_name(parameter), _text(parameter)))
    return {heading: rows for heading, rows in made.items() if rows}


def _heading(parameter: click.Parameter) -> str:
    if not isinstance(parameter, click.Option):
        return _ARGUMENTS
    return getattr(parameter, "rich_help_panel", None) or _OPTIONS


def _name(option: click.Option) -> str:
    """Return the names of an option and the form of its value: ``-q, --quiet`` or ``--cap LEVEL=X``."""
    names = ", ".join(sorted(option.opts, key=len))
    return names if option.is_flag else f"{names} {option.metavar or option.type.name.upper()}"


def _text(parameter: click.Parameter) -> str:
    """Return what a parameter does, with its default."""
    default, shown = parameter.default, getattr(parameter, "show_default", None)
    words = ""
    if isinstance(shown, str):
        words = shown
    elif shown is not False and isinstance(default, (str, int, float, Path)) and not isinstance(default, bool):
        words = f"{default:g}" if isinstance(default, float) else str(default)
    text = re.sub(r"(?<!\.)\.$", "", getattr(parameter, "help", None) or "")  # the libraries' texts have a full stop
    needed = " (required)" if parameter.required and isinstance(parameter, click.Option) else ""
    return f"{text}{needed}" + (f" [{words}]" if words else "")


def _lines(row: Row, names: int, width: int) -> list[str]:
    """Return the lines of a row: its text beside the name, or below it where one of them is too long."""
    name, text = row
    below = width < NARROW or len(name) > names
    indent = " " * (4 if below else names + 4)
    if below:
        return [f"  {name}", *textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent)]
    return textwrap.wrap(text, width, initial_indent=f"  {name:<{names}}  ", subsequent_indent=indent) or [f"  {name}"]


def _bold(text: str) -> str:
    return click.style(text, bold=True)
