"""``ldpsim collector``: the key by which devices know their one collector, and the app that Flower ships to them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli import options as o
from cli.output import echo

collector = typer.Typer(help="The key of a collector, and the Flower app that asks devices.", no_args_is_help=True)


@collector.callback()
def root() -> None:
    """The key of a collector, by which devices know whose question they answer, and the Flower app that asks them."""


@collector.command()
def keygen(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="File of the secret key; the public one is FILE.pub.")],
    debug: o.PlainDebug = False,
) -> None:
    """Make a key pair. Keep FILE; give FILE.pub to the people, who pin it at enrolment."""
    from devices.collector import generate

    public = generate(path)
    echo(f"{path}: secret, signs questions (ldpsim run --collector-key {path})", err=True)
    echo(f"{path}.pub: for the people (ldpsim device enrol --collector-key {path}.pub)", err=True)
    echo(public)


@collector.command("app")
def write_app(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to create.")],
    debug: o.PlainDebug = False,
) -> None:
    """Write the Flower app of the installed version into a new folder, for `flwr run DIR`."""
    from strategies.engines.flower_processes import app_folder
    from strategies.flower_app.alone import default_config

    if path.exists():
        raise ValueError(f"{path} exists already: the app gets a new folder")
    app_folder(path, default_config())
    echo(f"{path}: the Flower app of this version (flwr run {path})", err=True)
    echo(str(path))
