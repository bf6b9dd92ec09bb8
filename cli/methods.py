"""``ldpsim methods``: the methods, one line each, or one with the options and parameters that it reads."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Annotated, Any

import typer

from ldpsim.cli import completion
from ldpsim.cli import options as o
from ldpsim.cli.output import console, print_json, text_table

_LETTERS = {"adjacency": "E", "features": "F", "label": "L"}


def methods(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Show the options and parameters of one", autocompletion=completion.methods
        ),
    ] = None,
    as_json: o.AsJson = False,
    debug: o.Debug = False,
) -> None:
    """List the methods: paper, who must be trusted, and what is private.

    ldpsim methods hogs
    """
    shown = rows_of_methods() if name is None else about(name)
    if as_json:
        print_json(shown)
    elif isinstance(shown, list):
        _list(shown)
    else:
        _show(shown)


def rows_of_methods() -> list[dict[str, Any]]:
    """Return one JSON-ready row per method, by name."""
    from ldpsim.curator.methods import table

    return [_row(method) for _, method in sorted(table().items())]


def about(name: str) -> dict[str, Any]:
    """Return what a method is and reads, JSON-ready.

    ``options`` are those that only some methods read, ``parameters`` those of ``--set``, with their defaults.

    Raises:
        ValueError: for an unknown name.
    """
    from ldpsim.curator.methods import find
    from ldpsim.curator.names import paper_name
    from ldpsim.strategies.setup.option_spec import declared
    from ldpsim.strategies.setup.options import RunOptions

    method = find(name)
    own = [entry for entry in fields(method) if not entry.metadata.get("unused")]  # type: ignore[arg-type]
    specs = declared(RunOptions).values()
    return {
        **_row(method),
        "options": [spec.option for spec in specs if spec.name in method.spec.options_read],
        "parameters": {paper_name(entry.name): None if entry.default is MISSING else entry.default for entry in own},
    }


def _row(method: Any) -> dict[str, Any]:
    spec = method.spec
    return {
        "name": spec.name, "paper": spec.paper, "trust": spec.trust, "trusted": spec.trusted,
        "private": list(spec.private), "mechanisms": list(spec.mechanisms),
    }  # fmt: skip


def _list(rows: list[dict[str, Any]]) -> None:
    from rich.markup import escape

    shown = text_table("method", "trusted", "private", "!paper", gap=1)
    for row in rows:
        private = "".join(_LETTERS.get(name, name) for name in row["private"]) or "-"
        shown.add_row(row["name"], row["trusted"], private, escape(row["paper"]))
    screen = console()
    screen.print(shown)
    screen.print("[dim]trusted: who sees more than one noisy report. private: E edges, F features, L label.[/dim]")
    screen.print("[dim]Papers and mechanisms in full: --json.[/dim]")


def _show(about: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    rows = {
        "paper": about["paper"],
        "curator": about["trust"].removesuffix(" curator"),
        "trusted": about["trusted"],
        "private": ", ".join(about["private"]) or "nothing",
        "mechanisms": ", ".join(about["mechanisms"]) or "none",
        "options": ", ".join(about["options"]) or "none",
        "--set": ", ".join(f"{key}={str(value).lower() if isinstance(value, bool) else value}"
                           for key, value in about["parameters"].items()) or "none",
    }  # fmt: skip
    grid = Table.grid(padding=(0, 2))
    for heading, text in rows.items():
        grid.add_row(heading, escape(text))
    screen = console()
    screen.print(f"[bold]{about['name']}[/bold]", grid)
    screen.print("[dim]options: those that only some methods read; --set: with the defaults.[/dim]")
