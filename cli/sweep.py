"""``ldpsim sweep``: a grid of runs and one table."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpsim.cli import options as o
from ldpsim.cli.errors import end_if_any_failed
from ldpsim.cli.imports import large_imports
from ldpsim.cli.output import (
    MOST_ROWS,
    console,
    echo,
    fitting,
    print_json,
    show_failures,
    show_sums,
    text_table,
    working,
)
from ldpsim.cli.words import count, plus_minus, points
from ldpsim.strategies.setup.option_spec import OUTPUT, POPULATION, RUNNING

if TYPE_CHECKING:
    from ldpsim.cli.screen import FittingTable
    from ldpsim.strategies.experiments.sweep import SweepResult
    from ldpsim.strategies.outputs.groups import Group

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
    details: o.Details = False,
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
    with working(quiet=quiet or as_json) as progress:
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
        _show(result, len(cells), details=details)
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


def _show(result: SweepResult, cells: int, *, details: bool) -> None:
    from rich.markup import escape

    from ldpsim.cli.summary import show_groups, show_warning

    screen, failed = console(), len(result.failures)
    groups = sorted(result.groups, key=_validation, reverse=True)
    for sentence in _best(groups):
        screen.print(f"[bold]{escape(sentence)}[/bold]")
    ran = cells - result.found - failed
    screen.print(f"{count(cells, 'run')}: {ran} done now, {result.found} done before, {failed} failed.")
    most = failed if details else MOST_ROWS // 2
    show_failures(screen, result.failures[:most])
    if failed > most:
        screen.print(f"… {failed - most} more failed (--details)")
    if details:
        show_groups(result.groups, result.sums)
    elif groups:
        rows = MOST_ROWS - min(failed, most)  # each failure has a line
        tables = [_table(groups[:rows], levels) for levels in (2, 1, 0)]
        tables.append(_table(groups[:rows], 0, setting="~setting"))
        screen.print("", fitting(screen, tables))
        if len(groups) > rows:
            screen.print(f"… {len(groups) - rows} more (--details)")
        show_sums(screen, result.sums)
        show_warning(groups)
    if result.records:
        following = shlex.join(["ldpsim", "report", str(result.folder)])
        echo(f"Next: {following}")
    echo(f"Written to {result.table}, and means over the seeds to {result.summary}")


def _table(groups: Sequence[Group], most: int, *, setting: str = "setting") -> FittingTable:
    """Return the table of some groups, with what holds at so many levels."""
    from rich.markup import escape

    from ldpsim.curator.privacy.levels import level_term
    from ldpsim.strategies.results.levels_of_results import loss_in_column, shown_levels

    levels = list(shown_levels(2))[2 - most :]
    shown = text_table(setting, ">validation\n%", ">test\n%", *[">n"] * bool(most),
                       *(f">holds:\n{level_term(level)}" for level in levels), gap=1)  # fmt: skip
    for group in groups:
        scores = [points(group.row["val"]), points(group.mean) + plus_minus(group.row["sd"])]
        held = [loss_in_column(group.levels[level]) for level in levels]
        shown.add_row(escape(group.label), *scores, *[str(group.row["n"])] * bool(most), *held)
    return shown


def _validation(group: Group) -> float:
    value: float | None = group.row["val"]
    return -1.0 if value is None else value


def _best(groups: Sequence[Group]) -> Iterator[str]:
    """Yield a sentence for each data set: the setting with the largest mean accuracy of validation people."""
    data = list(dict.fromkeys(group.data for group in groups))
    for name, people in data:
        there = [group for group in groups if group.data == (name, people)]
        best, validation = there[0], there[0].row["val"]
        if validation is None:
            continue
        others = sum(group.row["val"] == validation for group in there) - 1
        right = f"{points(validation)} % of validation people, {points(best.mean)} % of test people"
        yield (f"Best on validation, {name} with {people:,} people: {best.label}. It is right for {right}"
               f"{f'; {others} more are as good' if others else ''}.")  # fmt: skip


def _finite(value: Any) -> Any:
    """Return a value for JSON, which has no infinity."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
