"""``ldpsim report``: a page of finished results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli import options as o
from cli.output import print_json
from cli.progress import Progress
from cli.words import count, method_names
from strategies.setup.option_spec import OUTPUT


def report(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of runs, sweeps or comparisons, or above them.")
    ],
    out: Annotated[
        Path | None,
        o.in_panel(OUTPUT, "--out", "The page.", "FILE", show_default="report.html in DIR; of several: here"),
    ] = None,
    as_json: Annotated[
        bool, o.in_panel(OUTPUT, "--json", "The results and the page's path as one JSON document.")
    ] = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Write one HTML page from finished results; nothing is run, and the page asks no network."""
    with Progress(shown=not (quiet or as_json)) as progress:
        progress("reading", None)
        from cli.report.gather import gather
        from cli.report.page import write_page

        found = gather(folders)
        page = out or (folders[0] / "report.html" if len(folders) == 1 else Path("report.html"))
        if page.is_dir() or not page.parent.is_dir():
            raise ValueError(f"--out {page}: must name a file in a folder that is there")
        progress("drawing", None)
        write_page(page, found)

    if as_json:
        print_json({"results": [entry.record for entry in found.results], "html": str(page.absolute())})
        return
    if quiet:
        typer.echo(str(page))
        return
    names = method_names([{"label": name} for name in dict.fromkeys(entry.people["name"] for entry in found.results)])
    typer.echo(f"{count(len(found.results), 'result')} of {names}.")
    for entry in found.failed:
        typer.echo(f"failed: {entry.what}: {entry.why}")
    for entry in found.left_out:
        typer.echo(f"not shown: {entry.what}: {entry.why}")
    typer.echo(f"Written to {page}")
