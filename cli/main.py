"""``ldpsim``: the list of commands. Each command has a file of its own."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperArgument

from ldpsim.cli.audit import audit
from ldpsim.cli.compare import compare
from ldpsim.cli.curator import curator
from ldpsim.cli.datasets import datasets
from ldpsim.cli.device import device
from ldpsim.cli.doctor.command import doctor
from ldpsim.cli.dossier import dossier
from ldpsim.cli.errors import OneLineErrors
from ldpsim.cli.help import App
from ldpsim.cli.import_data import import_data
from ldpsim.cli.ledger import ledger
from ldpsim.cli.methods import methods
from ldpsim.cli.output import echo, write_plainly_where_needed
from ldpsim.cli.plan import plan
from ldpsim.cli.poison import poison
from ldpsim.cli.report.command import report
from ldpsim.cli.run import run
from ldpsim.cli.stress import stress
from ldpsim.cli.sweep import sweep
from ldpsim.cli.tune import tune


class Argument(TyperArgument):
    """Positional argument that keeps its help text: from click 8.5 on, the base class drops it."""

    def __init__(self, *, help: str | None = None, **more: Any) -> None:
        super().__init__(help=help, **more)
        self.help = help


typer.main.TyperArgument = Argument  # type: ignore[attr-defined]  # Typer below 0.21 has no option for it
app = App(
    name="ldpsim",
    cls=OneLineErrors,
    no_args_is_help=True,
    suggest_commands=False,  # click names the nearest commands itself
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


def version() -> str:
    """Return the installed version, or ``unknown`` if the checkout runs without being installed."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("ldpsim")
    except PackageNotFoundError:
        return "unknown"


def _print_version(value: bool) -> None:
    if value:
        echo(f"ldpsim {version()}")
        raise typer.Exit


@app.callback()
def root(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Train graph networks on locally private reports; show accuracy, privacy and cost.

    `ldpsim COMMAND --help` lists the options of a command.

    ldpsim run --clients 3000 --method hogs
    ldpsim compare hogs sbp vote raw --clients 3000
    """


RESERVED = {"import_data": "import"}  # a word of Python's is no name of a function
SIMULATE, READ, ATTACK, DEPLOY = "Simulate", "Look up", "Attack and audit", "Deploy"

# Commands under their headings in --help, most used first.
for panel, commands in (
    (SIMULATE, (run, compare, sweep, tune, plan)),
    (READ, (report, dossier, methods, datasets, import_data, doctor)),
    (ATTACK, (stress, poison, audit)),
):
    for command in commands:
        app.command(RESERVED.get(command.__name__), rich_help_panel=panel)(command)
for name, group in (("ledger", ledger), ("device", device), ("curator", curator)):
    app.add_typer(group, name=name, rich_help_panel=DEPLOY)


def open_standard_streams() -> None:
    """Open the null device in place of a standard stream that is closed, as by ``ldpsim run >&-``.

    Otherwise the next file that is opened gets its number, and what a library prints is written into that file.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest free number, which is this one
        setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115


def main() -> None:
    """Entry point of the console script."""
    open_standard_streams()
    write_plainly_where_needed()
    app(prog_name="ldpsim")


if __name__ == "__main__":
    main()
