"""``ldpsim plan``: decide before anybody is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpsim.cli import completion
from ldpsim.cli import options as o
from ldpsim.cli.imports import large_imports
from ldpsim.cli.output import console, echo, print_json, text_table, working
from ldpsim.cli.screen import NARROW
from ldpsim.cli.words import bytes_, guessed, planned_loss, size
from ldpsim.strategies.setup.option_spec import POPULATION
from ldpsim.strategies.setup.options import RunOptions

if TYPE_CHECKING:
    from ldpsim.strategies.planning.plan import Plan, PlanRow

_WISHES = "Wishes"
_DEFAULT = "of --like"
_IN_CLEAR = ("", "some labels", "part of all", "all records")  # by how much of an ordinary record is
_LARGEST = (1 << 31) - 1  # of a number that is read; what a plan takes is much less
# Options of a run that a plan does not read; `--like` is its data set.
_NOT_READ = ("method", "dataset", "tuned", "defence", "false_alarm", "state", "from_reports", "save_reports",
             "collector_key", "engine", "ray_address", "dropout", "caps", "on_requery", "device", "force",
             "repeats_vary")  # fmt: skip


def _fact(flag: str, help: str, metavar: str, **more: Any) -> Any:
    return o.in_panel(POPULATION, flag, help, metavar, show_default=_DEFAULT, **more)


def _wish(flag: str, help: str, metavar: str, **more: Any) -> Any:
    return o.in_panel(_WISHES, flag, help, metavar, **{"show_default": "none", **more})


@o.with_run_options(leave_out=_NOT_READ)
def plan(
    methods: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[METHOD]...",
            help="Methods (see `ldpsim methods`); none: all that people answer by themselves.",
            autocompletion=completion.methods,
        ),
    ] = None,
    like: Annotated[
        str,
        o.in_panel(
            None,
            "--like",
            "People like those of a data set, or of your own .npz.",
            "NAME|FILE",
            autocompletion=completion.datasets,
        ),
    ] = "generated",
    mean_degree: Annotated[float | None, _fact("--mean-degree", "Mean number of neighbours.", "K")] = None,
    homophily: Annotated[float | None, _fact("--homophily", "Share of edges inside a class.", "H")] = None,
    classes: Annotated[int | None, _fact("--number-of-classes", "Number of classes.", "C", max=_LARGEST)] = None,
    features: Annotated[int | None, _fact("--number-of-features", "Number of features.", "D", max=_LARGEST)] = None,
    feature_rate: Annotated[
        float | None, _fact("--feature-rate", "Share of a person's features that are not 0.", "R")
    ] = None,
    level: Annotated[
        str,
        _wish("--level", "Level that the plan is about.", "LEVEL", show_default=True, autocompletion=completion.levels),
    ] = "person",
    holds: Annotated[float | None, _wish("--holds", "Solve for budgets at which X holds there.", "X")] = None,
    max_attack: Annotated[
        float | None, _wish("--max-attack", "Largest chance of a right guess at that level.", "P")
    ] = None,
    max_bytes: Annotated[float | None, _wish("--max-bytes", "Most bytes a device, both ways.", "B")] = None,
    *,
    options: RunOptions,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Compute on paper what each method would protect and cost. Nobody is asked or enrolled."""
    values = {"mean_degree": mean_degree, "homophily": homophily, "classes": classes, "features": features}
    with working(silent=quiet or as_json) as progress:
        with large_imports():
            from ldpsim.strategies.planning.plan import Wishes, make_plan, planned_people

        overrides = {name: value for name, value in values.items() if value is not None}
        facts, runs = planned_people(replace(options, dataset=like), overrides, feature_rate)
        made = make_plan(methods or (), facts, Wishes(level, holds, max_bytes, max_attack), runs, progress=progress)
        files = written(made, options.out) if options.out is not None else ()
    if as_json:
        print_json(made.to_dict())
    else:
        _show(made, files)


def written(made: Plan, out: Path) -> tuple[Path, ...]:
    """Write the files of a plan and its page; return their paths, the page first."""
    from ldpsim.cli.report.plan_page import write_plan_page
    from ldpsim.strategies.planning.files import PAGE, undeployable, write_files

    files = write_files(made, out)
    if made.choice is not None and (reason := undeployable(made.choice)):
        echo(f"No deployment.toml: {reason}.", err=True)
    write_plan_page(files[0].parent / PAGE, made)
    return (files[0].parent / PAGE, *files)


def _show(made: Plan, files: Sequence[Path]) -> None:
    from rich.markup import escape

    from ldpsim.curator.privacy.levels import level_term
    from ldpsim.strategies.planning.plan import RULE

    screen, facts, choice = console(), made.facts, made.choice
    screen.print(
        f"[bold]{facts.n:,} people on paper[/bold]: mean degree {facts.mean_degree:g}, homophily {facts.homophily:g}, "
        f"{facts.classes} classes, {facts.features} features ({facts.words:g} a person)"
    )
    narrow = screen.width < NARROW
    level = level_term(made.wishes.level)
    table = text_table("method", f">{level}", ">bytes") if narrow else text_table(
        "method", f">{level}", ">guess", ">down", ">up", ">memory", "in clear", gap=1
    )  # fmt: skip
    for row in made.rows:
        table.add_row(*_cells(row, narrow))
    screen.print(table)
    screen.print(
        f"[dim]{level}, by epsilon; guess: the best guess between two possible values of it, 50 % is chance. *: the "
        "rest of the record is public. c: held by a trusted curator. down, up: bytes of a device. memory: of a run, "
        f"within a factor of 1.5. Order: {RULE}.[/dim]"
    )
    reasons: dict[str, list[str]] = {}
    for name, why in [*((row.name, why) for row in made.rows for why in row.why), *made.failures.items()]:
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        screen.print(f"  [dim]{escape(', '.join(names))}: {escape(why)}[/dim]")
    if choice is None:
        screen.print(f"[yellow]Choice: {escape(made.why)}.[/yellow]")
    else:
        weak = choice.protection("bad")
        if weak:  # before anything that reads as praise
            screen.print(f"[yellow]Not protected by the choice: {escape(weak)}.[/yellow]")
        tone = "yellow" if weak else "green"
        screen.print(
            f"[{tone} bold]Choice: {escape(choice.name)}[/{tone} bold] (asks {escape(choice.asks)}): "
            f"{escape(made.why)}."
        )
        if protected := choice.protection("good", "open"):
            screen.print(f"  Protected: {escape(protected)}.")
        screen.print("Its worth is not measured. Rehearse it on people like yours:")
        screen.print(f"  {choice.command}", markup=False, soft_wrap=True)
    for place, path in enumerate(files):
        echo(f"{'Written to' if not place else '       and'} {path}")


def _cells(row: PlanRow, narrow: bool) -> list[str]:
    entry, figures = row.at_level, row.figures
    mark = "*" if entry["public"] else "c" if entry["level"] == "central_node" else ""
    held = planned_loss(entry) + ("" if entry["value"] is None else mark)
    name = f"[dim]{row.name}[/dim]" if row.why else row.name
    if narrow:
        return [name, held, bytes_(figures["bytes_per_device"])]
    best = "" if "best_guess" not in entry else guessed(entry["best_guess"])
    memory = size(figures["memory_bytes"])
    memory = memory if figures["fits"] else f"[red]{memory}[/red]"
    return [name, held, best, bytes_(figures["bytes"]["down"]), bytes_(figures["bytes"]["up"]), memory,
            _IN_CLEAR[row.openness]]  # fmt: skip
