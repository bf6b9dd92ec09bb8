"""``ldpsim sweep``: a grid of runs and one table."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ldpsim.cli import options as o
from ldpsim.cli.errors import end_if_any_failed
from ldpsim.cli.imports import large_imports
from ldpsim.cli.output import console, echo, print_json, show_failures, working
from ldpsim.strategies.setup.option_spec import OUTPUT, POPULATION, RUNNING

_GRID = "Values of an option: one run each"


def sweep(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE.toml", help="The grid; -g replaces values of it", show_default=False),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", "-g", help=_GRID, metavar="KEY=V1,V2", rich_help_panel=POPULATION, show_default=False),
    ] = None,
    engine: Annotated[str, o.in_panel(RUNNING, "--engine", "Runner of runs", "auto|local|ray")] = "auto",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    data_dir: o.DataDir = None,
    out: Annotated[Path, o.in_panel(OUTPUT, "--out", "Parent of the folder sweep-FILE", "DIR")] = Path("runs"),
    track: o.Track = None,
    as_json: Annotated[bool, o.in_panel(OUTPUT, "--json", "Print the table as one JSON document")] = False,
    quiet: Annotated[bool, o.in_panel(OUTPUT, "--quiet -q", "Print nothing but the path of the table")] = False,
    debug: o.Debug = False,
) -> None:
    """Run a grid of simulations; finished ones are kept.

    KEY is an option of `ldpsim run` with _ for -, such as eps_features, or settings.NAME for a parameter of --set.

    ldpsim sweep grid.toml
    ldpsim sweep -g method=hogs,vote -g epsilon=2,4,8 -g clients=1000
    """
    values = lists("--grid", grid)
    if file is None and not values:
        raise ValueError("nothing to run: name a FILE.toml, or give values with -g KEY=V1,V2")
    with working(silent=quiet or as_json) as progress:
        with large_imports():
            from ldpsim.strategies.experiments.sweep import run_sweep
            from ldpsim.strategies.experiments.sweep_file import read_sweep

        cells = [replace(cell, options=replace(cell.options, data_dir=data_dir)) for cell in read_sweep(file, values)]
        result = run_sweep(
            cells, out / f"sweep-{file.stem if file else 'grid'}", engine=engine, workers=workers,
            ray_address=ray_address, progress=progress, track=track or (),
        )  # fmt: skip

    if as_json:
        document = {
            "rows": [{key: _finite(value) for key, value in row.items()} for row in result.rows],
            "folder": str(result.folder),
            "table": str(result.table),
            "summary": str(result.summary),
            "found": result.found,
            "failed": len(result.failures),
            "in_all": [total.to_dict() for total in result.sums],
        }
        print_json(document)
    elif quiet:
        echo(str(result.table))
    else:
        _show(result, len(cells))
    end_if_any_failed(result.failures, f"of {len(cells)} cells", debug=debug)


def lists(option: str, texts: list[str] | None) -> dict[str, tuple[str, ...]]:
    """Read ``KEY=V1,V2`` texts.

    Raises:
        ValueError: for a text of another form, or a value that is empty or repeated.
    """
    values = {}
    for key, text in o.pairs(option, texts).items():
        several = tuple(value.strip() for value in text.split(","))
        if not all(several) or len(set(several)) < len(several):
            raise ValueError(f"{option} {key}={text}: must be different values with commas between them")
        values[key] = several
    return values


def _show(result: Any, cells: int) -> None:
    from ldpsim.cli.summary import show_groups

    screen, failed = console(), len(result.failures)
    if result.records:
        show_groups(result.groups, result.sums)
    ran = cells - result.found - failed
    screen.print(f"{cells} cells: {ran} ran, {result.found} had a result, {failed} failed.")
    show_failures(screen, result.failures)
    screen.print(f"Written to {result.table}", soft_wrap=True, markup=False)
    screen.print(f"       and {result.summary}, its means over the seeds", soft_wrap=True, markup=False)
    if result.records:
        following = shlex.join(["ldpsim", "report", str(result.folder)])
        screen.print(f"Next: {following}", soft_wrap=True, markup=False)


def _finite(value: Any) -> Any:
    """Return a value for JSON, which has no infinity."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
