"""``ldpsim datasets``: the data sets, one line each, and whether they are on disk."""

from __future__ import annotations

from ldpsim.cli import options as o
from ldpsim.cli.output import console, print_json, text_table


def datasets(
    data_dir: o.DataDir = None,
    as_json: o.AsJson = False,
) -> None:
    """List the data sets: sizes, people, and whether they are on disk."""
    from ldpsim.devices.datasets import describe

    rows = describe(data_dir)
    if as_json:
        print_json(rows)
        return
    from rich.markup import escape

    from ldpsim.devices.datasets.files import default_root

    shown = text_table("data set", ">nodes", ">edges", ">features", ">classes", "disk", "!people", gap=1)
    for row in rows:
        sizes = [f"{row[key]:,}" if row[key] is not None else "-" for key in ("nodes", "edges", "features", "classes")]
        on_disk = "[green]yes[/green]" if row["on_disk"] else "no"
        shown.add_row(row["name"], *sizes, on_disk, escape(row["people"]))
    screen = console()
    screen.print(shown)
    looked = f"[dim]Looked in {escape(str(data_dir or default_root()))}. Sources and licences: --json.[/dim]"
    screen.print(looked, soft_wrap=True)
