"""``ldpsim collector``: the key by which devices know their one collector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli import options as o

collector = typer.Typer(help="The key of a collector, by which devices know whose question they answer.",
                        no_args_is_help=True)  # fmt: skip


@collector.callback()
def root() -> None:
    """The key of a collector, by which devices know whose question they answer."""


@collector.command()
def keygen(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="File of the secret key; the public one is FILE.pub.")],
    debug: o.PlainDebug = False,
) -> None:
    """Make a key pair. Keep FILE; give FILE.pub to the people, who pin it at enrolment."""
    from devices.collector import generate

    public = generate(path)
    typer.echo(f"{path}: secret, signs questions (ldpsim run --collector-key {path})", err=True)
    typer.echo(f"{path}.pub: for the people (ldpsim device enrol --collector-key {path}.pub)", err=True)
    typer.echo(public)
