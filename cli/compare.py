"""``ldpsim compare``: several methods on the same people, in one table and one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpsim.cli import completion
from ldpsim.cli import options as o
from ldpsim.cli.errors import end_if_any_failed
from ldpsim.cli.imports import large_imports
from ldpsim.cli.output import WIDTH, console, echo, print_json, show_failures, show_sums, text_table, working
from ldpsim.cli.words import ABOVE, TONES, bytes_, level_in_column, null_points, points, seconds
from ldpsim.strategies.setup.option_spec import BUDGET, MODEL, RUNNING
from ldpsim.strategies.setup.options import RunOptions

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ldpsim.cli.report.gather import Gathered
    from ldpsim.strategies.experiments.failures import Failures

PAGE = "compare.html"
_MATCH = o.in_panel(BUDGET, "--match", "Solve for budgets at which X holds at LEVEL.", "LEVEL X",
                    show_default="each method's own", autocompletion=completion.levels)  # fmt: skip

_LEGEND = """Levels: the epsilon of one collection that holds there; open: unprotected.
bytes: down and up, a device. s: one repeat."""
_NARROW_LEGEND = "Level: the epsilon of one collection; open: unprotected. The page has more columns."


@o.with_run_options(leave_out=("method", "reference", "engine", "from_reports"))
def compare(
    methods: Annotated[
        list[str],
        typer.Argument(metavar="METHOD...", help="Methods (see `ldpsim methods`).", autocompletion=completion.methods),
    ],
    match: Annotated[tuple[str, float] | None, _MATCH] = None,
    *,
    options: RunOptions,
    reference: Annotated[
        bool, o.in_panel(MODEL, "--reference/--no-reference", "Train each method's network without noise, too.")
    ] = False,
    engine: Annotated[
        str, o.in_panel(RUNNING, "--engine", "Where methods run: processes, or Ray.", "auto|local|ray")
    ] = "auto",
    track: o.Track = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Run several methods on the same people with the same splits, and compare them."""
    with working(silent=quiet or as_json) as progress:
        with large_imports():
            from ldpsim.cli.report.gather import gather
            from ldpsim.cli.report.page import write_page
            from ldpsim.cli.report.shown import shown_rows
            from ldpsim.strategies.experiments.compare import compare as run

        result = run(
            methods, replace(options, reference=reference), matching=match, engine=engine, workers=options.workers,
            ray_address=options.ray_address, progress=progress, track=track or (),
        )  # fmt: skip
        page = result.folder / PAGE
        found = None
        if result.records:
            progress("drawing", None)
            found = gather([result.folder], only=[result.folder / name for name in result.folders])
            write_page(page, found, methods=methods)

    if as_json:
        document = {
            "results": list(result.records),
            "html": str(page.absolute()) if found else None,
            "table": str(result.table.absolute()),
            "failed": {name: failed.line for name, failed in result.failures},
            "in_all": [asked.to_dict() for asked in result.sums],
        }
        print_json(document)
    elif quiet:
        echo(str(page if found else result.table))
    elif found is not None:
        _show(shown_rows(found, methods=methods), found, result.failures)
        echo(f"Written to {page}")
        echo(f"       and {result.table}")
    end_if_any_failed(result.failures, f"of {len(methods)} methods", debug=debug)


def _show(rows: Sequence[Mapping[str, Any]], gathered: Gathered, failures: Failures) -> None:
    from rich.markup import escape

    from ldpsim.cli.report.page import verdict
    from ldpsim.strategies.results.levels import level_term, shown_levels

    held = list(shown_levels(3))
    match = gathered.match
    if match is not None and match["level"] not in held and match["level"] in rows[0]["levels"]:
        held[0] = match["level"]
    screen = console()
    wide = screen.width >= WIDTH
    headings = [">test %", ">±", *(f">{level_term(name)}" for name in held), ">bytes", ">rounds", ">s"]
    taken = len(headings) if wide else 3
    shown = text_table("!method" if wide else "~method", *headings[:taken], gap=1)
    for row in rows:
        spread = "" if row["std"] is None else points(row["std"])
        entries = [level_in_column(row["levels"][name]) for name in held]
        found = [f"[bold]{points(row['test'])}[/bold]", spread, *entries, bytes_(row["bytes"]), str(row["rounds"]),
                 seconds(row["seconds"]["total"])]  # fmt: skip
        shown.add_row(escape(row["label"]), *found[:taken])
    screen.print(shown)
    screen.print(f"[dim]{_LEGEND if wide else _NARROW_LEGEND}[/dim]")
    for row in rows:
        if row["silo"]:
            screen.print(f"[dim]{escape(row['label'])}: {bytes_(row['silo'])} a silo.[/dim]")
    screen.print(_in_words(rows, gathered))
    show_sums(screen, gathered.sums)
    if any(row["seeded"] and row["trust"] == "reports" for row in rows):
        times = max(row["collections"] for row in rows)
        would = "" if times == 1 else f" {times} repeats on the same people would lose {times} times as much."
        screen.print(f"[yellow]Simulated from a seed: not private.{would}[/yellow]")
    _show_nulls(screen, rows)
    said = verdict(rows, match)
    colour = "green" if said["equal"] else "yellow"
    screen.print(f"[{colour}]{escape(said['line'])}[/{colour}]")
    for name, why in said["reasons"]:
        screen.print(f"  {escape(name)}: {escape(why)}")
    show_failures(screen, failures)


def _in_words(rows: Sequence[Mapping[str, Any]], gathered: Gathered) -> Table:
    """Return the privacy of each method in words, in short."""
    from rich.markup import escape
    from rich.table import Table

    from ldpsim.strategies.results.in_words import in_short

    short = {entry.row["folder"]: in_short(entry.record) for entry in gathered.results}
    shown = Table.grid(padding=(0, 1))
    shown.add_column(max_width=20)
    for row in rows:
        shown.add_row(escape(row["label"]), escape(short[row["folder"]]))
    return shown


def _show_nulls(screen: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the null models of each method, and its verdict."""
    from rich.markup import escape
    from rich.table import Table

    from ldpsim.strategies.results.shown_nulls import NOT_TAKEN, NULLS, STANDINGS

    taken = [name for name in NULLS if any(name in row["nulls"] for row in rows)]
    if not taken:
        screen.print(f"[dim]Null models: {NOT_TAKEN}.[/dim]")
        return
    wide = screen.width >= WIDTH
    headings = (f">{NULLS[name].heading.replace(' ', chr(10))}" for name in taken)
    shown = text_table("~method", ">test", *headings, gap=1)
    verdicts = Table.grid(padding=(0, 1))
    verdicts.add_column(max_width=20)
    for row in rows:
        label, found = escape(row["label"]), {name: null_points(row["nulls"].get(name), row["test"]) for name in taken}
        found = {name: f"[bold {TONES['bad']}]{words}[/]"
                 if name in row["nulls"] and row["nulls"][name]["test"] > row["test"] else words
                 for name, words in found.items()}  # fmt: skip
        shown.add_row(label, f"[bold]{points(row['test'])}[/bold]", *found.values())
        if not wide and row["nulls"]:
            verdicts.add_row(label, ", ".join(f"{NULLS[name].heading} {found[name]}" for name in row["nulls"]))
        if row["verdict"] is not None:
            style = TONES[STANDINGS[row["verdict"]["standing"]][1]]
            verdicts.add_row(label, f"[{style}]{escape(row['verdict']['text'])}[/{style}]")
    screen.print()
    if wide:
        screen.print(shown)
    screen.print(f"[dim]Null models, %. {ABOVE}: above the method. Shuffled: the same run with data of others.[/dim]")
    screen.print(verdicts)
