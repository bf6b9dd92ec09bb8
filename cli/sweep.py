"""``ldpsim sweep``: a grid of runs and one table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpsim.cli import options as o
from ldpsim.cli.errors import end_if_any_failed
from ldpsim.cli.imports import large_imports
from ldpsim.cli.output import WIDTH, console, echo, print_json, show_failures, show_sums, text_table, working
from ldpsim.cli.words import ABOVE, TONES, epsilon, null_points, plus_minus, points
from ldpsim.strategies.setup.option_spec import OUTPUT, RUNNING

if TYPE_CHECKING:
    from ldpsim.strategies.outputs.seed_groups import SeedGroup

_SHOWN = 40


def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The grid; docs/commands/sweep.md has its form.")],
    engine: Annotated[
        str, o.in_panel(RUNNING, "--engine", "Where cells run: processes, or Ray.", "auto|local|ray")
    ] = "auto",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    data_dir: o.DataDir = None,
    out: Annotated[Path, o.in_panel(OUTPUT, "--out", "Where the sweep's folder, sweep-<FILE>, is made.", "DIR")] = Path(
        "runs"
    ),
    track: o.Track = None,
    as_json: Annotated[
        bool, o.in_panel(OUTPUT, "--json", "The table as one JSON document on standard output.")
    ] = False,
    quiet: Annotated[bool, o.in_panel(OUTPUT, "--quiet", "Print nothing but the path of the table.")] = False,
    debug: o.Debug = False,
) -> None:
    """Run a grid of simulations; cells with a result do not run again."""
    with working(silent=quiet or as_json) as progress:
        with large_imports():
            from ldpsim.strategies.experiments.cells_folder import has_some_of
            from ldpsim.strategies.experiments.sweep import run_sweep
            from ldpsim.strategies.experiments.sweep_file import read_sweep

        cells = [replace(cell, options=replace(cell.options, data_dir=data_dir)) for cell in read_sweep(file)]
        result = run_sweep(
            cells, out / f"sweep-{file.stem}", goes_on=has_some_of, engine=engine, workers=workers,
            ray_address=ray_address, progress=progress, track=track or (),
        )  # fmt: skip

    if as_json:
        document = {
            "rows": [{key: _finite(value) for key, value in row.items()} for row in result.rows],
            "folder": str(result.folder),
            "table": str(result.table),
            "summary": str(result.summary),
            "parquet": str(result.parquet) if result.parquet else None,
            "found": result.found,
            "failed": len(result.failures),
            "in_all": [asked.to_dict() for asked in result.sums],
        }
        print_json(document)
    elif quiet:
        echo(str(result.table))
    else:
        _show([cell.label for cell in cells], result)
    end_if_any_failed(result.failures, f"of {len(cells)} cells", debug=debug)


def _show(labels: Sequence[str], result: Any) -> None:
    from rich.markup import escape

    from ldpsim.cli.verdict import ShellCommand
    from ldpsim.strategies.outputs.shell import page_of, table_of
    from ldpsim.strategies.results.levels import shown_levels
    from ldpsim.strategies.results.shown_nulls import NULLS, STANDINGS, best_null

    screen = console()
    levels = list(shown_levels(2))
    more = ["verdict", *(f">{level}" for level in levels)] if screen.width >= WIDTH else []
    shown = text_table("~cell", ">test %", ">chance", ">null", *more, gap=1)
    for label, row in list(zip(labels, result.rows, strict=True))[:_SHOWN]:
        if row["status"] == "failed":
            shown.add_row(escape(label), "[red]failed[/red]")
            continue
        test = points(row["test"]) + plus_minus(row["std"])
        nulls = {name: {"test": row[name]} for name in NULLS if row[name] is not None}
        best = null_points(nulls.get(best_null(nulls) or ""), row["test"])
        words, tone = STANDINGS[row["standing"] or ""]
        found = [f"[{TONES[tone]}]{words}[/]", *(_held(row, level, epsilon) for level in levels)]
        shown.add_row(escape(label), test, points(row["chance"]), best, *found[: len(more)])
    screen.print(shown)
    screen.print(
        f"[dim]null: the best null model; {ABOVE}: above the method. verdict: against all null\n"
        "models; not above: nothing measurable. The table in the file has all of them.[/dim]"
    )
    if len(labels) > _SHOWN:
        screen.print(f"[dim]and {len(labels) - _SHOWN} more[/dim]")
    if any(group.n > 1 for group in result.groups):
        screen.print(_means(result.groups))
        screen.print("[dim]Means over seeds ± their standard deviation; null: the best mean of a null model.[/dim]")
        if len(result.groups) > _SHOWN:
            screen.print(f"[dim]and {len(result.groups) - _SHOWN} more[/dim]")
    show_sums(screen, result.sums)
    failed = len(result.failures)
    ran = len(labels) - result.found - failed
    screen.print(f"{len(labels)} cells: {ran} ran, {result.found} had a result, {failed} failed.")
    show_failures(screen, result.failures[:_SHOWN])
    screen.print(f"Written to {escape(str(result.table))}", soft_wrap=True)
    screen.print(f"       and {escape(str(result.summary))}, its means over the seeds", soft_wrap=True)
    if result.parquet is not None:
        screen.print(f"       and {escape(str(result.parquet))}", soft_wrap=True)
    else:
        screen.print("[dim]No Parquet file: pyarrow is not installed (the extra 'parquet').[/dim]")
    if failed < len(labels):
        screen.print("Next:")
        for following in (page_of(result.folder), table_of(result.folder)):
            screen.print(ShellCommand(following), crop=False)  # a long path stays whole


def _means(groups: Sequence[SeedGroup]) -> Any:
    """Return the table of the groups: number of scores, mean and spread of the test score, the best null model."""
    from rich.markup import escape

    shown = text_table("~mean of", ">n", ">test %", ">null", gap=1)
    for group in groups[:_SHOWN]:
        test = points(group.mean) + plus_minus(group.sd)
        best = None if group.null is None else {"test": group.null}
        null = points(group.null) if group.mean is None else null_points(best, group.mean)
        shown.add_row(escape(group.label), str(group.n), test, null)
    return shown


def _held(row: Mapping[str, Any], level: str, words: Any) -> str:
    one = row[f"holds_{level}_of_one"]
    value = row[f"holds_{level}"] if one is None else one
    return str(row[f"holds_{level}_status"]) if value is None else str(words(value))


def _finite(value: Any) -> Any:
    """Return a value for JSON, which has no infinity."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
